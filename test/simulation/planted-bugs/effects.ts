/** Bugs by which something is done in the world more often than a fault explains. */
import type { PlantedBug } from './bug.ts';
import { undoing } from './fixed-codes.ts';

export const inEffects: readonly PlantedBug[] = [
  {
    name: 'each delivery does its attempt twice',
    file: 'lib/service/attempt-node.ts',
    find: 'return await Promise.race([attempt(stop.signal), aborted]);',
    replace:
      'await Promise.race([attempt(stop.signal), aborted]);\n    return await Promise.race([attempt(stop.signal), aborted]);',
    within: 10,
  },
  {
    name: 'what a commit leaves to its committer is sent to the queue too',
    file: 'lib/service/carry-out.ts',
    find: "else if (event.via !== 'inline') now.push(",
    replace: 'else now.push(',
    within: 60,
  },
  {
    name: 'a node is run though it was over when it was said to begin',
    file: 'lib/service/run-node.ts',
    find: 'const isWanted = wanted(fold, first.open) !== undefined;',
    replace: 'const isWanted = true;',
    within: 100,
    options: { runs: 12, code: 0, isStormy: true },
  },
  {
    name: 'what is undone is undone twice at once',
    file: 'lib/program/undo.ts',
    find: 'bodies.begin({ key, attempt }, (signal) => work?.rollback?.({ signal, attempt, key, output: ownCopy(output) }));',
    replace:
      'bodies.begin({ key, attempt }, async (signal) => {\n          await work?.rollback?.({ signal, attempt, key, output: ownCopy(output) });\n          await work?.rollback?.({ signal, attempt, key, output: ownCopy(output) });\n        });',
    within: 10,
    options: { codes: [undoing] },
  },
];
