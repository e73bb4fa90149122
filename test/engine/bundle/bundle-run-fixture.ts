/** A bundle run driven by a test: facts are decided and committed as the service does. */
import { type BundleFact, type NewMessage, decideBundle, decideBundleStart } from '../../../lib/engine/bundle/decide.ts';
import { type MessageResult, messageId, workflowQueue } from '../../../lib/engine/bundle/message.ts';
import { type NodeId, commitNo, nodeKey, nonce, runId, topLevel } from '../../../lib/engine/ids.ts';
import type { Commit } from '../../../lib/engine/log/commit.ts';
import type { RunEvent } from '../../../lib/engine/log/events.ts';
import { attemptOf } from '../../../lib/engine/log/fold.ts';
import { after, days } from '../../../lib/engine/time.ts';
import { dawn, foldOf } from '../graph-run-fixture.ts';

export const deadlineAt = after(dawn, days(7));
export const drawn = (count: number) => runId(`wrun_01ARZ3NDEKTSV4RRFF${String(count).padStart(8, '0')}`);
export const message = (count: number): NewMessage => ({
  id: messageId(count % 2 === 0 ? 'workflow' : 'step', drawn(count)),
  message: { queueName: workflowQueue('greet'), body: { count } },
});

export class BundleRunFixture {
  readonly commits: Commit[] = [];
  now = dawn;
  random = 0.5;

  constructor() {
    this.#commit(decideBundleStart({ value: {} }, {}, message(0), this.tools));
  }

  get tools() {
    return { now: this.now, deadlineAt, random: () => this.random };
  }

  get state() {
    return foldOf(this.commits);
  }

  later(wait: Parameters<typeof after>[1]): void {
    this.now = after(this.now, wait);
  }

  decide(...facts: readonly BundleFact[]): readonly RunEvent[] {
    const events = decideBundle(this.state, facts, this.tools);
    if (events.length > 0) this.#commit(events);
    return events;
  }

  answered(id: NodeId, result: MessageResult, nextMessage: NewMessage = message(900)): BundleFact {
    const node = { nodeId: id, iteration: topLevel };
    const attempt = attemptOf(this.state.nodes.get(nodeKey(node)));
    return { kind: 'message-answered', node, attempt, result, nextMessage, startedAt: this.now, endedAt: this.now };
  }

  #commit(events: readonly RunEvent[]): void {
    const before = this.commits.length === 0 ? undefined : this.state;
    const number = commitNo((before?.asOf ?? 0) + 1);
    const firstEventId = before?.nextEventId ?? foldOf([]).nextEventId;
    this.commits.push({ number, firstEventId, events, at: this.now, by: 'test', nonce: nonce(`n${number}`) });
  }
}
