/** The calls of a simulated application to the World: over HTTP to a function of its own, or in the function that hosts the code. */
import { defined } from '../../../lib/base/defined.ts';
import type { WorldRequest } from '../../../lib/engine/devkit/decide.ts';
import { type DevKitEventName, devKitEvents, slotOf } from '../../../lib/engine/devkit/events.ts';
import type { DeploymentId, RunAddress } from '../../../lib/engine/ids.ts';
import { type JsonObject, type JsonValue, isJsonObject } from '../../../lib/engine/json.ts';
import { seconds } from '../../../lib/engine/time.ts';
import { createWorldBatch, createWorldEvent, listEvents } from '../../../lib/service/kinds/devkit/events-of-world.ts';
import type { Page } from '../../../lib/service/kinds/devkit/read-events.ts';
import type { EventParams, EventResult } from '../../../lib/service/kinds/devkit/event-result.ts';
import { publishDevKitMessage } from '../../../lib/service/kinds/devkit/publish-devkit-message.ts';
import { onRun } from '../../../lib/service/kinds/devkit/world-reads.ts';
import type { World } from '../../../lib/service/kinds/devkit/world.ts';
import type { WorldResult } from '../../../lib/service/kinds/devkit/world-error.ts';
import type { Functions } from '../functions.ts';
import type { Process, SimulationContext } from '../process.ts';
import { runInvariant } from '../violation.ts';
import type { DevKitChecker } from './devkit-checker.ts';
import type { SeenEvent } from './plan.ts';
import { isRightRefusal } from './refusals.ts';

/** No answer came, or none that says anything: the SDK gives the message back to its queue. */
class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

export interface ClientParts {
  readonly around: SimulationContext;
  readonly functions: Functions;
  readonly judge: DevKitChecker;
  readonly app: DeploymentId;
}

/** After this time a call is given up. */
const callTimeout = seconds(30);
const mostTries = 3;

export interface QueueOptions {
  readonly idempotencyKey?: string;
  readonly delayMs?: number;
}

export class WorldClient {
  readonly #parts: ClientParts;
  readonly #process: Process;
  readonly #hosted: World | undefined;

  /** @param hosted the World of the function that hosts the code */
  constructor(parts: ClientParts, process: Process, hosted?: World) {
    this.#parts = parts;
    this.#process = process;
    this.#hosted = hosted;
  }

  /** An event, as the SDK creates it: a call without an answer is repeated. */
  async create(run: RunAddress, request: WorldRequest, params: EventParams = {}): Promise<WorldResult<EventResult>> {
    const { judge } = this.#parts;
    for (let number = 1; ; number += 1) {
      const before = [...judge.eventsOf(run.runId)];
      const result = await this.#tried(number, (world) => createWorldEvent(world, { run, request, params }));
      if (result === undefined) continue;
      if (result.kind === 'refused') {
        const after = judge.eventsOf(run.runId);
        this.#mustHold(
          isRightRefusal(result, request, before, after),
          `${request.event} of ${request.correlationId} in ${run.runId} was refused: ${result.code}, ${result.message}`,
        );
        if (result.code !== 'unavailable') return result;
        if (number >= mostTries) throw new NoAnswer(result.message);
        continue;
      }
      this.#checkAnswer(run, request, params, result.value);
      return result;
    }
  }

  #checkAnswer({ runId }: RunAddress, request: WorldRequest, { sinceCursor }: EventParams, value: EventResult): void {
    const { judge } = this.#parts;
    const [event] = seenIn(value.event === undefined ? [] : [value.event]);
    if (event !== undefined) this.#judged(() => judge.pageRead(runId, event.slot - 1, [event]));
    const isKnown = event === undefined && (request.event === 'run_started' || request.event === 'run_cancelled');
    const isOwn = event?.id === (request.correlationId ?? '');
    const isSame = event?.event === request.event || (request.event === 'hook_created' && event?.event === 'hook_conflict');
    const isCreation = request.event === 'run_started' && event?.event === 'run_created';
    this.#mustHold(
      isKnown || (isOwn && (isSame || isCreation)),
      `${request.event} of ${runId} was answered with ${event?.event} of ${event?.id}`,
    );
    const after = request.event === 'run_started' ? 0 : slotOf(sinceCursor ?? '');
    if (value.events !== undefined && after !== undefined)
      this.#judged(() => judge.pageRead(runId, after, seenIn(value.events ?? [])));
  }

  /** Events that a page of the answer brought in addition. */
  async createBatch(run: RunAddress, requests: readonly WorldRequest[]): Promise<void> {
    for (let number = 1; ; number += 1) {
      const result = await this.#tried(number, (world) => createWorldBatch(world, { run, requests, resolveData: 'all' }));
      if (result === undefined) continue;
      this.#mustHold(result.kind === 'answered', `a batch of ${run.runId} was refused`);
      return;
    }
  }

  /** All events after a position. */
  async eventsAfter(run: RunAddress, position: number, limit = 1_000): Promise<readonly SeenEvent[]> {
    const { judge } = this.#parts;
    const found: SeenEvent[] = [];
    let cursor: string | null = `evnt_${String(position).padStart(26, '0')}`;
    for (let number = 1; ; number += 1) {
      const before = judge.eventsOf(run.runId).length;
      const from: string | null = cursor;
      const result: WorldResult<Page> | undefined = await this.#tried(number, (world) =>
        onRun(world, run, run.runId, (fold) =>
          listEvents(world.deps, fold, defined({ cursor: from ?? undefined, limit }), 'all'),
        ),
      );
      if (result === undefined) continue;
      if (result.kind === 'refused') throw new NoAnswer(result.message);
      const page = seenIn(result.value.data);
      this.#judged(() => judge.pageRead(run.runId, position + found.length, page));
      found.push(...page);
      if (result.value.hasMore) {
        cursor = result.value.cursor;
        continue;
      }
      this.#mustHold(
        position + found.length >= before,
        `of ${run.runId} ${position + found.length} of ${before} events were read`,
      );
      return found;
    }
  }

  async queue(
    run: RunAddress,
    queueName: string,
    message: JsonObject,
    { idempotencyKey, delayMs }: QueueOptions = {},
  ): Promise<void> {
    for (let number = 1; ; number += 1) {
      const result = await this.#tried(number, async (world) => {
        const head = await world.deps.log.head(run);
        const delay = delayMs === undefined ? undefined : seconds(Math.ceil(delayMs / 1_000));
        const { projectId, environment } = run;
        const request = {
          scope: { projectId, environment },
          queueName,
          message,
          deploymentId: this.#parts.app,
          idempotencyKey,
          delay,
        };
        return publishDevKitMessage(world, defined(request), head?.kind === 'devkit' ? head : undefined);
      });
      if (result === undefined) continue;
      this.#mustHold(result.kind === 'answered', `a message of ${run.runId} was refused`);
      return;
    }
  }

  /** @returns undefined if there is no answer, and the call is repeated */
  async #tried<Value>(number: number, work: (world: World) => Promise<Value>): Promise<Value | undefined> {
    try {
      return await this.call(work);
    } catch (cause) {
      const isTemporary = cause instanceof NoAnswer || (cause instanceof Error && cause.name === 'Unavailable');
      if (!isTemporary) throw cause;
      if (number >= mostTries) throw new NoAnswer('three calls without an answer');
      return undefined;
    }
  }

  call<Value>(work: (world: World) => Promise<Value>): Promise<Value> {
    const { around, functions } = this.#parts;
    const { faults, prng } = around;
    const process = this.#process;
    if (!process.isAlive || faults.shouldInject('crashBefore')) {
      process.die();
      return new Promise(() => {});
    }
    const hosted = this.#hosted;
    if (hosted !== undefined) return work(hosted);
    return new Promise((resolve, reject) => {
      const fail = (): void => reject(new NoAnswer('no answer'));
      process.in(callTimeout, fail);
      process.in(prng.whole(0, 5), () => {
        let answer: (() => void) | undefined;
        functions.invoke(
          'api',
          async (invocation) => {
            const value = await work(invocation);
            answer = () => resolve(value);
          },
          (isDone) => {
            if (!isDone || faults.shouldInject('lostAnswer')) process.in(prng.whole(0, 5), fail);
            else if (faults.shouldInject('crashAfter')) process.die();
            else process.in(prng.whole(0, 5), () => answer?.());
          },
        );
      });
    });
  }

  #mustHold(holds: boolean, message: string): void {
    this.#judged(() => runInvariant(9, holds, message));
  }

  /** The code would treat an error thrown here as its own failure. */
  #judged(judge: () => void): void {
    try {
      judge();
    } catch (cause) {
      this.#parts.functions.problems.push(cause);
    }
  }
}

const isEventName = (name: JsonValue | undefined): name is DevKitEventName => devKitEvents.some((each) => each === name);

const textFields = ['result', 'error', 'payload', 'output', 'input', 'metadata'] as const;

/** The events of an answer, as the code reads them. */
export function seenIn(views: readonly JsonObject[]): readonly SeenEvent[] {
  return views.flatMap(({ eventType, eventId, correlationId, eventData }) => {
    const data = isJsonObject(eventData) ? eventData : {};
    const value = textFields.map((name) => data[name]).find((each) => typeof each === 'string');
    const until = data['resumeAt'] ?? data['retryAfter'];
    const date = isJsonObject(until) ? until['$date'] : undefined;
    if (!isEventName(eventType) || typeof eventId !== 'string') return [];
    return [
      {
        event: eventType,
        id: typeof correlationId === 'string' ? correlationId : '',
        slot: slotOf(eventId) ?? -1,
        text: typeof value === 'string' ? value : undefined,
        until: typeof date === 'string' ? Date.parse(date) : undefined,
      },
    ];
  });
}
