/** Hearing nodes that are at work: each from its first word on, and nothing twice. */
import { type NodeKey, type RunAddress, nodeKey } from '../engine/ids.ts';
import { type RunState, openNodes } from '../engine/log/fold.ts';
import { type OpenNode, isOpen } from '../engine/log/node-state.ts';
import { type DurationMs, type Instant, after, durationMs, seconds } from '../engine/time.ts';
import type { Delta } from '../ports/streams.ts';
import type { Deps } from './deps.ts';

/** Nodes that one reader hears at once, those that run before those that only may. Of others it sees the completion. */
export const mostEars = 32;
/** Deltas of one read. */
const mostDeltas = 100;
/** A node that says nothing is asked at growing intervals: most types never say anything. */
const firstPause = durationMs(200);
const longestPause = seconds(1);

export interface Heard {
  readonly node: OpenNode;
  readonly delta: Delta;
  /** said by another execution than what came before it: that is void */
  readonly isReset: boolean;
}

interface Ear {
  readonly node: NodeKey;
  next: number;
  owner: Delta['owner'] | undefined;
  pause: DurationMs;
  askAt: Instant;
}

export class Ears {
  readonly #deps: Pick<Deps, 'streams' | 'clock'>;
  readonly #run: RunAddress;
  readonly #ears = new Map<NodeKey, Ear>();

  constructor(deps: Pick<Deps, 'streams' | 'clock'>, run: RunAddress) {
    this.#deps = deps;
    this.#run = run;
  }

  /** What the nodes that are open in this fold have said since the last time. Of an ended one the completion has the whole. */
  async *hear(state: RunState): AsyncGenerator<Heard, void, undefined> {
    this.#follow(state);
    const due = [...this.#ears.values()].filter(({ askAt }) => askAt <= this.#deps.clock.now());
    const read = await Promise.all(due.map((ear) => this.#read(ear)));
    for (const [at, ear] of due.entries()) {
      for (let deltas = read[at] ?? []; deltas.length > 0; deltas = await this.#more(ear, deltas)) {
        for (const delta of deltas) {
          const node = state.nodes.get(ear.node);
          const isReset = ear.owner !== undefined && ear.owner !== delta.owner;
          ear.next = delta.index + 1;
          ear.owner = delta.owner;
          if (node !== undefined && isOpen(node)) yield { node, delta, isReset };
        }
      }
    }
  }

  #follow(state: RunState): void {
    for (const key of this.#ears.keys()) if (!state.open.has(key)) this.#ears.delete(key);
    if (this.#ears.size >= mostEars) return;
    const unheard = openNodes(state).filter((node) => node.status !== 'waiting' && !this.#ears.has(nodeKey(node)));
    const running = unheard.filter(({ status }) => status === 'running');
    const others = unheard.filter(({ status }) => status !== 'running');
    for (const key of [...running, ...others].slice(0, mostEars - this.#ears.size).map(nodeKey)) {
      this.#ears.set(key, { node: key, next: 0, owner: undefined, pause: firstPause, askAt: this.#deps.clock.now() });
    }
  }

  /** Up to the first missing index: what is missing now is given to the next question. */
  async #read(ear: Ear): Promise<readonly Delta[]> {
    const found = await this.#deps.streams.from(this.#run, ear.node, ear.next, mostDeltas);
    const hole = found.findIndex(({ index }, at) => index !== ear.next + at);
    const dense = hole === -1 ? found : found.slice(0, hole);
    ear.pause = dense.length > 0 ? firstPause : durationMs(Math.min(longestPause, ear.pause * 1.5));
    ear.askAt = dense.length > 0 ? this.#deps.clock.now() : after(this.#deps.clock.now(), ear.pause);
    return dense;
  }

  async #more(ear: Ear, last: readonly Delta[]): Promise<readonly Delta[]> {
    return last.length < mostDeltas ? [] : this.#read(ear);
  }
}
