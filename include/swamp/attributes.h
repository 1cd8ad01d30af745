/* Export, nullability and must-use marks of the public headers; declares no function. */
#ifndef SWAMP_ATTRIBUTES_H
#define SWAMP_ATTRIBUTES_H

#ifdef __cplusplus
#define SWAMP_BEGIN_DECLS extern "C" {
#define SWAMP_END_DECLS }
#else
#define SWAMP_BEGIN_DECLS
#define SWAMP_END_DECLS
#endif

#if defined(__GNUC__) || defined(__clang__)
#define SWAMP_API __attribute__((visibility("default")))
#define SWAMP_NODISCARD __attribute__((warn_unused_result))
#else
#define SWAMP_API
#define SWAMP_NODISCARD
#endif

#endif
