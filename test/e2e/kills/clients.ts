/**
 * Clients of a cloud that is killed and restarted. They start runs with idempotency keys and retry until they get a response,
 * cancel and signal runs, and read events at any cursor. Their responses are stored, and checked against the final state.
 */
import { setTimeout as wait } from 'node:timers/promises';
import * as z from 'zod';
import * as schema from '../../../lib/codec/ids.ts';
import { hours, after } from '../../../lib/engine/time.ts';
import type { Prng } from '../../simulation/prng.ts';
import type { SentSignal } from '../../simulation/signal-checker.ts';
import { runInvariant } from '../../simulation/violation.ts';
import type { CloudTime } from './cloud-time.ts';
import { codeWorkflows } from './code-load.ts';
import { type Graph, graphs } from './graphs.ts';
import type { CloudAddress } from './killable-cloud.ts';

export interface Start {
  readonly n: number;
  readonly workflowName: string;
}

export interface ClientFacts {
  /** by the run id of the start's response */
  readonly starts: ReadonlyMap<string, Start>;
  /** runs with a cancel request, with any result */
  readonly cancelAsked: ReadonlySet<string>;
  /** runs with a successful cancel request */
  readonly cancelled: ReadonlySet<string>;
  readonly signals: readonly {
    readonly signal: SentSignal;
    readonly isDelivered: boolean;
    readonly at: SentSignal['bufferedUntil'];
  }[];
  /** events that readers were given, by run and id, as text */
  readonly seen: ReadonlyMap<string, ReadonlyMap<number, string>>;
}

const startedShape = z.looseObject({ runId: z.string() });
const sentShape = z.looseObject({ signalId: z.string(), delivered: z.boolean() });
const eventShape = z.looseObject({ eventId: z.int() });
const eventsShape = z.looseObject({ data: z.array(eventShape) });

const signals = { projectId: schema.projectId.parse('default'), environment: schema.environment.parse('local') };

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** The number of concurrent clients; each works in sequence. */
const lanes = 5;

export class Clients implements ClientFacts {
  readonly starts = new Map<string, Start>();
  readonly cancelAsked = new Set<string>();
  readonly cancelled = new Set<string>();
  readonly signals: { signal: SentSignal; isDelivered: boolean; at: SentSignal['bufferedUntil'] }[] = [];
  readonly seen = new Map<string, Map<number, string>>();
  readonly #prng: Prng;
  readonly #time: CloudTime;
  /** the cloud's address; pending during a restart */
  #place: Promise<CloudAddress>;
  #isOver = false;
  #hasLeft = false;
  /** background tasks, which are awaited only at the end */
  readonly #failure = Promise.withResolvers<never>();
  #count = 0;

  constructor(prng: Prng, time: CloudTime, place: Promise<CloudAddress>) {
    this.#prng = prng;
    this.#time = time;
    this.#place = place;
    // The caller of work() gets the error, if there is one.
    this.#failure.promise.catch(() => undefined);
  }

  /** Sets the address of the restarted cloud. */
  moved(place: Promise<CloudAddress>): void {
    this.#place = place;
  }

  /** Keeps the cloud under load until `finish` is called, and settles when all started work is done. */
  async work(): Promise<void> {
    await Promise.race([Promise.all(Array.from({ length: lanes }, () => this.#lane())), this.#failure.promise]);
  }

  /** Waits until this many further runs have been started. */
  async begun(more: number): Promise<void> {
    const enough = this.starts.size + more;
    while (this.starts.size < enough && !this.#isOver) await wait(5);
  }

  finish(): void {
    this.#isOver = true;
  }

  /** Stops all retries: the cloud will not be restarted. */
  leave(): void {
    this.#isOver = true;
    this.#hasLeft = true;
  }

  async #lane(): Promise<void> {
    const doings: Promise<void>[] = [];
    while (!this.#isOver) {
      for (const doing of await this.#begin()) doings.push(doing.catch((trouble: unknown) => this.#failure.reject(trouble)));
      await wait(this.#prng.whole(0, 120));
    }
    await Promise.all(doings);
  }

  /** @returns the remaining work for the run, which continues in the background */
  async #begin(): Promise<readonly Promise<void>[]> {
    const n = (this.#count += 1);
    const graph = this.#prng.isLucky(0.6) ? this.#prng.pick(graphs) : undefined;
    const workflowName = graph?.definition.name ?? this.#prng.pick(codeWorkflows).name;
    const runId = await this.#start(n, workflowName, graph?.input(n) ?? { n });
    const isEndless = graph !== undefined && graph.foretold(n) === undefined;
    return [
      ...(this.#prng.isLucky(0.2) ? [this.#startAgain(n, workflowName, graph?.input(n) ?? { n }, runId)] : []),
      ...(isEndless || this.#prng.isLucky(0.08) ? [this.#cancel(runId)] : []),
      ...(graph?.signal === undefined ? [] : [this.#signal(graph.signal, n)]),
      this.#read(runId),
    ];
  }

  async #start(n: number, workflowName: string, input: object): Promise<string> {
    const key = { 'idempotency-key': `start-${n}` };
    const { status, body } = await this.#ask('POST', '/v1/runs', { workflowName, input }, key);
    runInvariant(9, status === 202, `start ${n} got ${status} ${JSON.stringify(body)}`);
    const { runId } = startedShape.parse(body);
    const before = this.starts.get(runId);
    runInvariant(9, before === undefined || before.n === n, `starts ${before?.n} and ${n} got the same run`);
    this.starts.set(runId, { n, workflowName });
    return runId;
  }

  async #startAgain(n: number, workflowName: string, input: object, runId: string): Promise<void> {
    await wait(this.#prng.whole(0, 2_000));
    const again = await this.#start(n, workflowName, input);
    runInvariant(9, again === runId, `start ${n} got ${runId}, and ${again} when it was repeated`);
  }

  async #cancel(runId: string): Promise<void> {
    await wait(this.#prng.whole(0, 1_500));
    this.cancelAsked.add(runId);
    const { status, body } = await this.#ask('POST', `/v1/runs/${runId}/cancel`);
    if (status === 200) this.cancelled.add(runId);
    else runInvariant(7, JSON.stringify(body).includes('run_terminal'), `a cancel request got ${status} ${JSON.stringify(body)}`);
  }

  async #signal(name: Graph['definition']['name'], n: number): Promise<void> {
    await wait(this.#prng.whole(0, 1_500));
    const signalId = `signal-${n}`;
    const correlation = `thing-${n}`;
    const asked = { name, correlation, signalId, payload: { n } };
    const { status, body } = await this.#ask('POST', '/v1/signals', asked);
    runInvariant(11, status === 200 || status === 202, `a signal request got ${status} ${JSON.stringify(body)}`);
    const at = this.#time.now();
    const bufferedUntil = after(at, hours(24));
    const signal = { scope: signals, signalId: schema.signalId.parse(signalId), name, correlation, bufferedUntil };
    this.signals.push({ signal, isDelivered: sentShape.parse(body).delivered, at });
  }

  /** Reads events several times at random cursors, with disconnects, and follows a stream for a while. */
  async #read(runId: string): Promise<void> {
    for (let times = this.#prng.whole(0, 2); times > 0; times -= 1) {
      await wait(this.#prng.whole(0, 1_500));
      const seen = this.seen.get(runId) ?? new Map<number, string>();
      this.seen.set(runId, seen);
      const cursor = this.#prng.whole(0, seen.size + 2);
      const most = this.#prng.whole(1, 20);
      const events = this.#prng.isLucky(0.3)
        ? await this.#follow(runId, cursor, this.#prng.whole(50, 800))
        : await this.#page(runId, cursor, most);
      for (const [index, { eventId, text }] of events.entries()) {
        runInvariant(
          8,
          eventId === cursor + index + 1,
          `after event ${cursor + index} of ${runId} a reader was given ${eventId}`,
        );
        const before = seen.get(eventId);
        runInvariant(8, before === undefined || before === text, `event ${eventId} of ${runId} was ${before}, and is ${text}`);
        seen.set(eventId, text);
      }
    }
  }

  async #page(runId: string, cursor: number, limit: number): Promise<readonly Told[]> {
    const { status, body } = await this.#ask('GET', `/v1/runs/${runId}/events?after=${cursor}&limit=${limit}`);
    runInvariant(8, status === 200, `a reader of ${runId} got ${status} ${JSON.stringify(body)}`);
    const { data } = eventsShape.parse(body);
    return data
      .filter((event, index) => !isDerived(event, data[index - 1]?.eventId ?? cursor))
      .map((event) => ({ eventId: event.eventId, text: JSON.stringify(event) }));
  }

  /** The stream's frames until it broke or the reader disconnected. */
  async #follow(runId: string, cursor: number, forMs: number): Promise<readonly Told[]> {
    let text = '';
    try {
      const { url, apiKey } = await this.#place;
      const response = await fetch(`${url}/v1/runs/${runId}/events`, {
        headers: { authorization: `Bearer ${apiKey}`, accept: 'text/event-stream', 'last-event-id': String(cursor) },
        signal: AbortSignal.timeout(forMs),
      });
      if (response.status !== 200) return [];
      const decoder = new TextDecoder();
      for await (const chunk of response.body ?? []) text += decoder.decode(chunk, { stream: true });
    } catch {
      // The cloud was killed, or the time is over: the received frames count.
    }
    return told(text);
  }

  /** Retries until there is a complete response: a killed cloud gives none. */
  async #ask(method: string, path: string, body?: object, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    while (!this.#hasLeft) {
      try {
        const { url, apiKey } = await this.#place;
        const response = await fetch(`${url}${path}`, {
          method,
          headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', ...headers },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
          signal: AbortSignal.timeout(30_000),
        });
        const text = await response.text();
        if (response.status < 500 && response.status !== 429) return { status: response.status, body: JSON.parse(text) };
      } catch {
        // The connection broke, or the cloud is still starting.
      }
      await wait(30);
    }
    throw new Error('the round is over');
  }
}

interface Told {
  readonly eventId: number;
  readonly text: string;
}

/** Whether the event is not in the log: it then has the id of the event before it. */
const isDerived = (event: z.infer<typeof eventShape>, previous: number): boolean =>
  derivedTypes.has(event['type']) && event.eventId === previous;
const derivedTypes: ReadonlySet<unknown> = new Set(['node.log', 'node.cancelled', 'node.started']);

/** The events of complete frames; the last frame may be incomplete. */
function told(stream: string): readonly Told[] {
  const frames = stream.split('\n\n').slice(0, -1);
  return frames.flatMap((frame) => {
    const lines = frame.split('\n');
    const data = lines.find((line) => line.startsWith('data: '))?.slice('data: '.length);
    if (data === undefined || !lines.some((line) => line.startsWith('id: '))) return [];
    const event = eventShape.parse(JSON.parse(data));
    return [{ eventId: event.eventId, text: JSON.stringify(event) }];
  });
}
