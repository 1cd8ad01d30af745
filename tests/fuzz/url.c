/* Fuzzes URLs of servers, which come from people and from other servers' redirects, and Host headers. */
#include <stdlib.h>
#include <string.h>
#include <swamp/status.h>
#include "../../libswamp/util/url.h"
#include "fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), host[64];
    swamp__url url;
    int port = 0;
    if (swamp__url_parse(text, &url) == SWAMP_OK) {
        MUST(url.host[0] != '\0' && url.path[0] == '/');
        MUST(url.port > 0 && url.port < 65536);
        MUST(strpbrk(url.host, "\r\n @/") == NULL &&
             strpbrk(url.path, "\r\n") == NULL); /* nothing gets into a header */
        MUST(url.loopback == swamp__url_host_is_loopback(url.host));
    }
    if (swamp__url_split_authority(text, host, sizeof host, &port) == SWAMP_OK) {
        MUST(memchr(host, '\0', sizeof host) != NULL && host[0] != '\0');
        MUST(port >= 0 && port < 65536);
    }
    free(text);
    return 0;
}
