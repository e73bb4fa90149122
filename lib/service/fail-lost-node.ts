/** Answers a dead letter: the node's own message never led to an answer, and that is the node's failure, on the record. */
import { isTerminal } from '../engine/log/fold.ts';
import type { Failure } from '../engine/log/events.ts';
import type { Job, ResultMessage } from '../ports/jobs.ts';
import type { Decider } from './decide-run.ts';
import { mendRun } from './mend-run.ts';
import { readRun } from './read-log.ts';
import { tellEnd } from './tend-child.ts';
import { tellRun } from './tell-run.ts';

const lost: Failure = {
  cause: 'lost',
  code: 'recovery_error',
  message: 'the message of this attempt was given to workers again and again, and none of them got to an answer',
};

export async function failLostNode(decider: Decider, message: Job | ResultMessage): Promise<void> {
  const { deps } = decider;
  const fold = await readRun(deps, message.run);
  if (fold === undefined) return;
  if (!isTerminal(fold.state.progress) && 'nodeId' in message) {
    const node = { nodeId: message.nodeId, iteration: message.iteration };
    await tellRun(decider, fold, [{ kind: 'node-lost', node, attempt: message.attempt, failure: lost }]);
  }
  // Looking at the caller would only ask for the same message again: it is told here, by one who has more time.
  if (!isTerminal(fold.state.progress) && 'childRunId' in message) await tellEnd(decider, fold, message);
  // Whatever else the message was to do, a redelivery would have done by looking at the whole run.
  await mendRun(decider, fold);
}
