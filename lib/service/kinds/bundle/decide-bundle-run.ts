/** How facts about a bundle run become events. */
import { deadlineTermsOf } from '../../../engine/deadline.ts';
import { type BundleFact, decideBundle } from '../../../engine/bundle/decide.ts';
import { type Lane, type Message, messageId } from '../../../engine/bundle/message.ts';
import type { Fact } from '../../../engine/graph/facts.ts';
import type { RunId } from '../../../engine/ids.ts';
import { invariant } from '../../../engine/invariant.ts';
import { commitFacts } from '../../commit/commit-facts.ts';
import type { Deps } from '../../deps.ts';
import type { Decision } from '../../commit/append-facts.ts';
import type { Decider } from '../../decider.ts';
import type { AppendResult } from '../../run-log/append.ts';
import type { RunFold } from '../../run-log/read-run-fold.ts';

export const decideBundleRun = (decider: Decider, fold: RunFold, facts: readonly BundleFact[]): Promise<AppendResult> =>
  commitFacts(decider, fold, facts, bundleDecision(decider, fold));

const bundleDecision = ({ deps }: Decider, fold: RunFold): Decision<BundleFact> => ({
  decide: (facts) => {
    const tools = { now: deps.clock.now(), ...deadlineTermsOf(fold.head), random: () => deps.ids.random() };
    return { events: decideBundle(fold.state, facts, tools), undecided: 0 };
  },
});

/** For facts that runs of several kinds understand. Only the code of a bundle run knows what that run waits for. */
export function commonDecision(decider: Decider, fold: RunFold): Decision<Fact> {
  const { decide } = bundleDecision(decider, fold);
  const { runId } = fold.head.address;
  return {
    decide: (facts, loaded) => {
      const known = facts.filter(isBundleFact);
      invariant(known.length === facts.length, `${runId} is a bundle run, so its log has no nodes that wait`);
      return decide(known, loaded);
    },
  };
}

const bundleFactKinds: ReadonlySet<string> = new Set<Extract<Fact, BundleFact>['kind']>([
  'node-started',
  'node-lost',
  'cancel-requested',
  'deadline-passed',
  'recovered',
]);
const isBundleFact = (fact: Fact): fact is Extract<Fact, BundleFact> => bundleFactKinds.has(fact.kind);

/** A message with a new id, or with an id derived from `idSeed`, which the caller generated before. */
export const newMessage = (
  { ids, clock }: Pick<Deps, 'ids' | 'clock'>,
  lane: Lane,
  message: Message,
  idSeed: RunId = ids.runId(clock.now()),
) => ({ id: messageId(lane, idSeed), message });
