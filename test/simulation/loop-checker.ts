/** Checks the loops of one run: the concurrency limit, one iteration per item, and results in the order of the items. */
import type { NodeDefinition } from '../../lib/engine/graph/definition.ts';
import { topLevel } from '../../lib/engine/ids.ts';
import type { Payload } from '../../lib/engine/json.ts';
import type { RunEvent } from '../../lib/engine/log/events.ts';
import { runInvariant } from './violation.ts';

type Started = Extract<RunEvent, { type: 'LOOP_STARTED' }>;

export type NodeEvent = Extract<RunEvent, { nodeId: unknown; iteration: unknown }>;

export const iterationOf = (nodeId: string, iteration: string, index: number): string =>
  `${iteration === topLevel ? '' : `${iteration}/`}${nodeId}[${index}]`;

interface Loop {
  readonly terms: Started;
  readonly open: Set<number>;
  readonly results: Map<number, unknown>;
  begun: number;
  failed: number;
  /** whether it has paused since its last iteration started */
  hasPaused: boolean;
}

export class LoopChecker {
  readonly #runId: string;
  readonly #nodes: ReadonlyMap<string, NodeDefinition>;
  readonly #loops = new Map<string, Loop>();
  readonly #outputs = new Map<string, Payload>();
  /** loops that started an iteration in the current commit */
  readonly #beganNow = new Set<string>();

  constructor(runId: string, nodes: ReadonlyMap<string, NodeDefinition>) {
    this.#runId = runId;
    this.#nodes = nodes;
  }

  /** Starts the next commit. */
  commits(): void {
    this.#beganNow.clear();
  }

  /** @param workflowTasksAtRollback whether a pass went well; undefined where something of it has not ended */
  saw(event: NodeEvent, endedIn: (iteration: string) => boolean | undefined): void {
    const key = `${event.nodeId}@${event.iteration}`;
    if (event.type === 'NODE_COMPLETED') this.#outputs.set(key, event.output);
    if (event.type === 'LOOP_STARTED') {
      const { items = 3, concurrency = 1 } = this.#nodes.get(event.nodeId)?.config ?? {};
      this.#holds(event.items === items && event.concurrency === concurrency, `${key} is another loop than was drawn`);
      const fresh = { terms: event, open: new Set<number>(), results: new Map<number, unknown>() };
      this.#loops.set(key, { ...fresh, begun: 0, failed: 0, hasPaused: false });
      return;
    }
    const loop = this.#loops.get(key);
    if (loop === undefined) return;
    switch (event.type) {
      case 'LOOP_PAUSED':
        loop.hasPaused = true;
        break;
      case 'ITERATION_STARTED':
        this.#begins(key, loop, event.index);
        break;
      case 'ITERATION_ENDED':
        this.#ends(key, loop, event, endedIn(iterationOf(event.nodeId, event.iteration, event.index)));
        break;
      case 'NODE_COMPLETED':
        this.#completes(key, loop, event.output);
        break;
      case 'NODE_FAILED': {
        const mayFail = event.failure.code !== 'loop_item_failed' || loop.terms.onItemFailure === 'fail';
        this.#holds(mayFail, `${key} was to go on with its other items, and failed`);
        break;
      }
      default:
        break;
    }
  }

  #begins(key: string, loop: Loop, index: number): void {
    const { concurrency, items, delayMs } = loop.terms;
    this.#holds(index === loop.begun && index < items, `${key} begins its pass ${index} after ${loop.begun} of ${items}`);
    this.#holds(loop.open.size < concurrency, `${key} has ${loop.open.size + 1} passes under way, and may have ${concurrency}`);
    const hasWaited = delayMs === 0 || index === 0 || loop.hasPaused || this.#beganNow.has(key);
    this.#holds(hasWaited, `${key} begins its pass ${index} without the wait between items`);
    loop.begun += 1;
    loop.hasPaused = false;
    loop.open.add(index);
    this.#beganNow.add(key);
  }

  #ends(key: string, loop: Loop, event: Extract<RunEvent, { type: 'ITERATION_ENDED' }>, wentWell: boolean | undefined): void {
    const { index, status } = event;
    this.#holds(wentWell !== undefined, `pass ${index} of ${key} ended while something of it is open`);
    this.#holds(
      wentWell === (status === 'completed'),
      `iteration ${index} of ${key} ended as ${status}, which contradicts its leaves`,
    );
    loop.open.delete(index);
    if (status === 'failed') loop.failed += 1;
    const pass = iterationOf(event.nodeId, event.iteration, index);
    loop.results.set(index, event.result ?? this.#outputs.get(`${event.from}@${pass}`));
  }

  #completes(key: string, { terms, begun, open, failed, results }: Loop, output: Payload): void {
    this.#holds(begun === terms.items && open.size === 0, `${key} completed after ${begun} of ${terms.items} passes`);
    this.#holds(failed === 0 || terms.onItemFailure !== 'fail', `${key} completed, and ${failed} of its passes failed`);
    if (!('value' in output)) return;
    const inOrder = Array.from({ length: terms.items }, (_, index) => valueIn(results.get(index)));
    // The checker does not compare offloaded values.
    if (inOrder.includes(apart)) return;
    this.#holds(
      JSON.stringify(output.value) === JSON.stringify(inOrder),
      `${key} returns its results in another order than its items`,
    );
  }

  #holds(holds: boolean, message: string): void {
    runInvariant(4, holds, `${this.#runId}: ${message}`);
  }
}

const apart = Symbol('apart');
const valueIn = (payload: unknown): unknown =>
  typeof payload === 'object' && payload !== null && 'value' in payload ? payload.value : apart;
