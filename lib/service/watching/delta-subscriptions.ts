/** Reads the token streams of running nodes, each from its first delta on and without duplicates. */
import { type NodeKey, type RunAddress, nodeKey } from '../../engine/ids.ts';
import { type RunState, openNodes } from '../../engine/log/fold.ts';
import { type OpenNode, isOpen } from '../../engine/log/node-state.ts';
import { type DurationMs, type Instant, after, durationMs, seconds } from '../../engine/time.ts';
import type { Delta } from '../../ports/watching.ts';
import type { Deps } from '../deps.ts';

/** Maximum number of nodes that one reader subscribes to; running nodes come before queued ones. For others it sees the completion. */
export const maxSubscriptions = 32;
/** Maximum number of deltas in one read. */
const maxDeltasPerRead = 100;
/** The poll interval of a node without new deltas grows, because most node types never write deltas. */
const minPollInterval = durationMs(200);
const maxPollInterval = seconds(1);

export interface ReceivedDelta {
  readonly node: OpenNode;
  readonly delta: Delta;
  /** another execution of the node wrote this delta, so the earlier deltas are void */
  readonly isReset: boolean;
}

interface DeltaSubscription {
  readonly node: NodeKey;
  next: number;
  owner: Delta['owner'] | undefined;
  pollInterval: DurationMs;
  pollAt: Instant;
}

export class DeltaSubscriptions {
  readonly #deps: Pick<Deps, 'streams' | 'clock'>;
  readonly #run: RunAddress;
  readonly #subscriptions = new Map<NodeKey, DeltaSubscription>();

  constructor(deps: Pick<Deps, 'streams' | 'clock'>, run: RunAddress) {
    this.#deps = deps;
    this.#run = run;
  }

  /** New deltas of the nodes that are open in this fold. The completion of an ended node contains its whole output. */
  async *poll(state: RunState): AsyncGenerator<ReceivedDelta, void, undefined> {
    this.#subscribe(state);
    const due = [...this.#subscriptions.values()].filter(({ pollAt }) => pollAt <= this.#deps.clock.now());
    const read = await Promise.all(due.map((subscription) => this.#read(subscription)));
    for (const [at, subscription] of due.entries()) {
      for (let deltas = read[at] ?? []; deltas.length > 0; deltas = await this.#readMore(subscription, deltas)) {
        for (const delta of deltas) {
          const node = state.nodes.get(subscription.node);
          const isReset = subscription.owner !== undefined && subscription.owner !== delta.owner;
          subscription.next = delta.index + 1;
          subscription.owner = delta.owner;
          if (node !== undefined && isOpen(node)) yield { node, delta, isReset };
        }
      }
    }
  }

  #subscribe(state: RunState): void {
    for (const key of this.#subscriptions.keys()) if (!state.open.has(key)) this.#subscriptions.delete(key);
    if (this.#subscriptions.size >= maxSubscriptions) return;
    const unsubscribed = openNodes(state).filter((node) => node.status !== 'waiting' && !this.#subscriptions.has(nodeKey(node)));
    const running = unsubscribed.filter(({ status }) => status === 'running');
    const others = unsubscribed.filter(({ status }) => status !== 'running');
    for (const key of [...running, ...others].slice(0, maxSubscriptions - this.#subscriptions.size).map(nodeKey)) {
      this.#subscriptions.set(key, {
        node: key,
        next: 0,
        owner: undefined,
        pollInterval: minPollInterval,
        pollAt: this.#deps.clock.now(),
      });
    }
  }

  /** Reads up to the first missing index; the next read returns what is missing now. */
  async #read(subscription: DeltaSubscription): Promise<readonly Delta[]> {
    const found = await this.#deps.streams.from(this.#run, subscription.node, subscription.next, maxDeltasPerRead);
    const gap = found.findIndex(({ index }, at) => index !== subscription.next + at);
    const contiguous = gap === -1 ? found : found.slice(0, gap);
    subscription.pollInterval =
      contiguous.length > 0 ? minPollInterval : durationMs(Math.min(maxPollInterval, subscription.pollInterval * 1.5));
    subscription.pollAt =
      contiguous.length > 0 ? this.#deps.clock.now() : after(this.#deps.clock.now(), subscription.pollInterval);
    return contiguous;
  }

  async #readMore(subscription: DeltaSubscription, last: readonly Delta[]): Promise<readonly Delta[]> {
    return last.length < maxDeltasPerRead ? [] : this.#read(subscription);
  }
}
