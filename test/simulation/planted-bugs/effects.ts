/** Planted bugs that repeat external effects more often than the faults explain. */
import type { PlantedBug } from './bug.ts';
import { rollingBack } from './fixed-codes.ts';

export const effectBugs: readonly PlantedBug[] = [
  {
    name: 'each delivery runs its attempt twice',
    file: 'lib/service/kinds/graph/attempt-node.ts',
    find: 'return await Promise.race([attempt(stop.signal), aborted]);',
    replace:
      'await Promise.race([attempt(stop.signal), aborted]);\n    return await Promise.race([attempt(stop.signal), aborted]);',
    within: 10,
  },
  {
    name: 'a job that the worker runs itself is also sent to the queue',
    file: 'lib/service/commit/effects.ts',
    find: "if (event.via !== 'inline') readyJobs.push(",
    replace: 'readyJobs.push(',
    within: 60,
  },
  {
    name: 'a worker runs a node that ended before its begin was recorded',
    file: 'lib/service/kinds/graph/run-node.ts',
    find: 'const isWanted = openNodeOf(fold, first.open) !== undefined;',
    replace: 'const isWanted = true;',
    within: 100,
    faultProfile: 'frozen processes',
    options: { runs: 12, code: 0 },
  },
  {
    name: 'each rollback runs twice at the same time',
    file: 'lib/program/rollback.ts',
    find: 'stepFunctions.start({ key, attempt }, (signal) =>\n          functionStep?.rollback?.({ signal, attempt, key, output: deepCopy(output) }),\n        );',
    replace:
      'stepFunctions.start({ key, attempt }, async (signal) => {\n          await functionStep?.rollback?.({ signal, attempt, key, output: deepCopy(output) });\n          await functionStep?.rollback?.({ signal, attempt, key, output: deepCopy(output) });\n        });',
    within: 10,
    options: { codes: [rollingBack] },
  },
];
