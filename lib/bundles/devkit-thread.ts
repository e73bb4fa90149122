/**
 * The thread's side of apps of the Workflow DevKit: their World over the port of the thread, and the promises that the SDK leaves behind
 * when it answers a message.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { decodeTagged, encodeTagged } from '../world/tagged-json.ts';
import { errorText } from '../engine/error-text.ts';
import type { CallResult, WorldTransport } from '../world/calls.ts';
import { type WorldHost, buildWorld } from '../world/world.ts';
import type { DevKitTerms, FromThread, WorldAnswered } from './messages.ts';

/** Under these globals every version of the SDK since 4.1 looks for its World before it makes one. */
const worldKeys = ['@workflow/world//cache', '@workflow/world//stubbedCache'] as const;
/** Here the SDK finds `waitUntil`, for work that goes on after its answer. */
const requestContextKey = Symbol.for('@vercel/request-context');

/** What the thread knows of the message that it handles. */
interface CurrentMessage {
  /** milliseconds since the epoch */
  readonly endsAt: number;
  readonly leftBehind: Set<Promise<unknown>>;
}

export class DevKitApp {
  readonly #send: (message: FromThread) => void;
  readonly #current = new AsyncLocalStorage<CurrentMessage>();
  readonly #calls = new Map<number, (result: CallResult) => void>();
  readonly #world: object;
  #lastCall = 0;

  /** Installs the World. Call it before the first import of a bundle, because version 4 looks for its World at its import. */
  constructor(terms: DevKitTerms, send: (message: FromThread) => void) {
    this.#send = send;
    this.#world = buildWorld({ transport: this.#transport(), host: this.#host(terms), specVersion: () => terms.specVersion });
    for (const key of worldKeys) Reflect.set(globalThis, Symbol.for(key), this.#world);
    const waitUntil = (promise: unknown): void => this.#leaveBehind(promise);
    Reflect.set(globalThis, requestContextKey, { get: () => ({ waitUntil }) });
  }

  /** Why the app would not keep its runs here; undefined: it uses the World of this thread. */
  get refusal(): string | undefined {
    const isReplaced = worldKeys.some((key) => Reflect.get(globalThis, Symbol.for(key)) !== this.#world);
    return isReplaced
      ? 'the bundle has set a World of its own, so its runs are not kept in Stepwell: remove its call of setWorld'
      : undefined;
  }

  /** Runs the handler of a message, and waits for what it leaves behind. */
  async handle<Result>(endsAt: number, handler: () => Promise<Result>): Promise<Result> {
    const current: CurrentMessage = { endsAt, leftBehind: new Set() };
    return this.#current.run(current, async () => {
      const result = await handler();
      // Work that is left behind may leave more behind.
      while (current.leftBehind.size > 0) await Promise.all(current.leftBehind);
      return result;
    });
  }

  /** Takes the answer to a call of the World. */
  answer({ call, result }: WorldAnswered): void {
    const settle = this.#calls.get(call);
    this.#calls.delete(call);
    settle?.(result.kind === 'answered' ? { kind: 'answered', value: decodeTagged(JSON.parse(result.json)) } : result);
  }

  #transport(): WorldTransport {
    return {
      call: (method, body) =>
        new Promise((resolve) => {
          this.#lastCall += 1;
          this.#calls.set(this.#lastCall, resolve);
          this.#send({ kind: 'world_call', call: this.#lastCall, method, body: JSON.stringify(encodeTagged(body)) });
        }),
    };
  }

  #host({ deploymentId }: DevKitTerms): WorldHost {
    return {
      // An artifact never changes, so its id names one build.
      capabilities: { hookResumeDedup: true, deploymentAffinity: true },
      processExitTriggersQueueRedelivery: true,
      deploymentId: async () => deploymentId,
      queueNamespace: () => process.env['WORKFLOW_QUEUE_NAMESPACE'] || undefined,
      runtimeDeadline: () => {
        const endsAt = this.#current.getStore()?.endsAt;
        return endsAt === undefined ? undefined : new Date(endsAt);
      },
      // Only the process that runs this thread can send a request to it.
      checkDelivery: async () => undefined,
      start: async () => {},
    };
  }

  #leaveBehind(promise: unknown): void {
    const current = this.#current.getStore();
    if (current === undefined) return;
    const settled: Promise<unknown> = Promise.resolve(promise)
      // The SDK reports what matters of such work through its World.
      .catch((error: unknown) => process.stderr.write(`work after the answer failed: ${errorText(error)}\n`))
      .finally(() => current.leftBehind.delete(settled));
    current.leftBehind.add(settled);
  }
}
