/** The table of how jobs are executed, by the run kind. The API and other functions that only decide do not bundle it. */
import { notifyRun } from '../commit/commit-facts.ts';
import type { KindExecution, KindExecutions } from '../worker.ts';
import { deliverMessage } from './bundle/deliver-message.ts';
import { executeTasks } from './code/execute-tasks.ts';
import { deliverDevKitMessage } from './devkit/deliver-message.ts';
import { endGraphWait, runFirstOf, runNode } from './graph/run-node.ts';

/** Another function executes the code that waited. */
const endWaitOfCode: KindExecution<'code' | 'bundle'>['endWait'] = async (worker, fold, fact) => {
  const appended = await notifyRun(worker, fold, [fact]);
  return appended.kind === 'committed' ? async () => {} : undefined;
};

export const runExecutions: KindExecutions = {
  graph: { execute: runNode, begin: runFirstOf, endWait: endGraphWait },
  code: { execute: executeTasks, endWait: endWaitOfCode },
  bundle: { execute: deliverMessage, endWait: endWaitOfCode },
  devkit: { execute: deliverDevKitMessage, endWait: async () => undefined },
};
