/** `stepwell signals …`, and `stepwell runs signal`, which takes the same. */
import type { Command } from 'commander';
import type { Register } from '../command.ts';

export const addSignalOptions = (command: Command): Command =>
  command
    .option('--payload <json>', 'what the waiting node is given')
    .option('--payload-file <file>', 'the same, from a file of JSON')
    .option('--signal-id <id>', 'the same id is the same signal')
    .option('--expires-in-seconds <n>', 'how long it is kept for a wait that has not begun')
    .option('--idempotency-key <key>', 'the same key is the same signal');

export const register: Register = (program, createHandler) => {
  const signals = program.command('signals').description('tell waiting runs what has happened');
  addSignalOptions(
    signals
      .command('send <name>')
      .description('send a signal to whoever waits for it, or will')
      .requiredOption('--correlation <word>', 'which of all the things that bear the name'),
  ).action(createHandler(async () => (await import('../signals/send-signal.ts')).sendSignal));
};
