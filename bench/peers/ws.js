// npm `ws` as a peer: every event to every client, serialised once. Run with NODE_PATH at its node_modules.
'use strict';
const { WebSocketServer } = require('ws');
const { emitOnSignal } = require('./emit.js');

const BEHIND_BYTES = 256 * 1024;
const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false });

function isBehind() {
  for (const client of server.clients)
    if (client.bufferedAmount > BEHIND_BYTES)
      return true;
  return false;
}

server.on('listening', () => console.log(server.address().port + ' none'));
emitOnSignal((event) => {
  const bytes = Buffer.from(JSON.stringify(event));
  for (const client of server.clients)
    client.send(bytes, { binary: false });
}, isBehind);
