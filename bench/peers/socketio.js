// Socket.IO as a peer: every event to the room of all, over WebSocket. Run with NODE_PATH at its node_modules.
'use strict';
const http = require('http');
const { Server } = require('socket.io');
const { emitOnSignal } = require('./emit.js');

const BEHIND_PACKETS = 256;
const server = http.createServer();
const io = new Server(server, { transports: ['websocket'], perMessageDeflate: false });

function isBehind() {
  for (const socket of io.sockets.sockets.values())
    if (socket.conn.writeBuffer.length > BEHIND_PACKETS)
      return true;
  return false;
}

server.listen(0, '127.0.0.1', () => console.log(server.address().port + ' none'));
emitOnSignal((event) => io.emit('event', event), isBehind);
