// What both npm peers share: the synthetic event, when to emit, and when not to because viewers have not taken enough.
'use strict';

const BATCH = 32; // events between two looks at the clock and at the viewers

function option(name, missing) {
  const at = process.argv.indexOf('--' + name);
  return at < 0 ? missing : Number(process.argv[at + 1]);
}

const size = option('size', 200);
const events = option('events', 1000);
const rate = option('rate', 0);

function makeEvent(seq) {
  const event = {
    kind: 'method_output', at: String(process.hrtime.bigint()).padStart(19, '0'), jobId: 'build', stepId: 'compile',
    modelName: 'shell', stream: 'stdout', line: '',
  };
  event.line = 'x'.repeat(size - JSON.stringify(event).length);
  event.seq = seq;
  return event;
}

// On SIGUSR2: emits all events, `rate` a second or as fast as the viewers take them. isBehind() says whether one of
// them has too much to take already.
function emitOnSignal(emit, isBehind) {
  process.once('SIGUSR2', () => {
    const start = process.hrtime.bigint();
    let seq = 0;
    function turn() {
      const due = rate ? Number(process.hrtime.bigint() - start) / 1e9 * rate + 1 : events;
      for (let i = 0; i < BATCH && seq < Math.min(due, events) && !isBehind(); i++)
        emit(makeEvent(++seq));
      if (seq >= events)
        return;
      if (rate && seq >= due - 1)
        setTimeout(turn, 1);
      else
        setImmediate(turn);
    }
    turn();
  });
}

module.exports = { emitOnSignal };
