/** How facts of the platform become events of a DevKit run: a cancel, and the deadline. The log has no other events. */
import { defined } from '../../../base/defined.ts';
import { deadlineTermsOf } from '../../../engine/deadline.ts';
import { deadlineExceeded, openDecision } from '../../../engine/decision.ts';
import { type WorldRequest, decideRequest } from '../../../engine/devkit/decide.ts';
import { opaqueErrorsFrom } from '../../../engine/devkit/events.ts';
import type { Fact } from '../../../engine/graph/facts.ts';
import { type Payload, inline } from '../../../engine/json.ts';
import { isTerminal } from '../../../engine/log/fold.ts';
import type { Decision } from '../../commit/append-facts.ts';
import type { Decider } from '../../decider.ts';
import type { RunFold } from '../../run-log/read-run-fold.ts';

export const devKitDecision = ({ deps }: Decider, fold: RunFold): Decision<Fact> => ({
  decide: (facts) => {
    const draft = openDecision(fold.state, { now: deps.clock.now(), ...deadlineTermsOf(fold.head) });
    const specVersion = fold.state.devkit?.run.specVersion ?? 0;
    for (const fact of facts) {
      if (isTerminal(draft.state.progress)) break;
      const request = requestOf(fact, fold, specVersion, draft.tools.now);
      if (request !== undefined) decideRequest(draft, request);
    }
    return { events: draft.events, undecided: 0 };
  },
});

function requestOf(fact: Fact, { head }: RunFold, specVersion: number, now: number): WorldRequest | undefined {
  if (fact.kind === 'cancel-requested')
    return defined({
      event: 'run_cancelled',
      data: fact.reason === undefined ? undefined : { cancelReason: fact.reason.slice(0, maxReason) },
    });
  if (fact.kind === 'deadline-passed' && now >= head.deadlineAt)
    return failureRequest(specVersion, deadlineExceeded.message, 'deadline_exceeded');
  return undefined;
}

/** The Workflow DevKit's limit, in characters. */
const maxReason = 512;

/** The end of a run that the platform fails. */
export const failureRequest = (specVersion: number, message: string, errorCode: string): WorldRequest => ({
  event: 'run_failed',
  data: { errorCode },
  payload: errorPayload(specVersion, message),
});

/** An error in the format of the run: a message, or the serialization of a text by the DevKit (`devl` and devalue's JSON). */
const errorPayload = (specVersion: number, message: string): Payload =>
  specVersion < opaqueErrorsFrom
    ? inline({ message })
    : inline({ $bytes: Buffer.from(`devl${JSON.stringify([message])}`).toString('base64') });
