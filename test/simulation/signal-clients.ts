/**
 * Clients that send signals. Each repeats a signal with the same name until it gets a response and then sends the next one,
 * for as long as any run is open.
 */
import { type Scope, signalId } from '../../lib/engine/ids.ts';
import { after, hours, minutes, seconds } from '../../lib/engine/time.ts';
import { sendSignal } from '../../lib/service/runs/send-signal.ts';
import type { Functions } from './functions.ts';
import type { SimulationContext } from './process.ts';
import { simulatedSignalKeys } from './random-graph.ts';
import type { SignalChecker } from './signal-checker.ts';
import { paceOf } from './simulated-ports.ts';
import { runInvariant } from './violation.ts';

interface SignalClientParts {
  readonly around: SimulationContext;
  readonly functions: Functions;
  readonly signals: SignalChecker;
  readonly isQuiet: () => boolean;
}

type SignalKey = (typeof simulatedSignalKeys)[number];

export class SignalClients {
  sent = 0;
  readonly #parts: SignalClientParts;
  /** senders that ended because no run was open */
  readonly #stopped: (() => void)[] = [];

  constructor(parts: SignalClientParts) {
    this.#parts = parts;
  }

  begin(scopes: readonly Scope[]): void {
    const { prng, time } = this.#parts.around;
    for (const scope of scopes) {
      for (const key of simulatedSignalKeys) {
        const pauseMs = prng.pick([60_000, 1_200_000, 10_800_000]);
        time.in(prng.whole(0, pauseMs), () => this.#send(scope, key, pauseMs));
      }
    }
  }

  #send(scope: Scope, key: SignalKey, pauseMs: number): void {
    const { prng, time, faults } = this.#parts.around;
    const id = signalId(`sig-${(this.sent += 1)}`);
    const hasKey = prng.isLucky(0.5);
    const request = { ...key, payload: { sent: this.sent }, bodyHash: id, ...(hasKey ? { idempotencyKey: id } : {}) };
    const expiresIn = prng.pick([seconds(30), minutes(10), hours(24), hours(24)]);
    const bufferedUntil = after(time.now, expiresIn);
    let answer: boolean | undefined;
    this.#parts.signals.sent({ ...key, scope, signalId: id, payload: request.payload });
    const attempt = (): void => {
      this.#parts.functions.invoke('api', async (decider) => {
        const sending = await sendSignal(decider, scope, { ...request, signalId: id, expiresIn });
        runInvariant(9, sending.kind === 'sent', `signal ${id} was answered ${sending.kind}`);
        runInvariant(9, (answer ?? sending.isDelivered) === sending.isDelivered, `signal ${id} got two different responses`);
        if (answer === undefined && hasKey && faults.shouldInject('keyReused')) this.#sendOther(scope, key, id);
        answer = sending.isDelivered;
        this.#parts.signals.acknowledged({ ...key, scope, signalId: id, bufferedUntil }, answer, time.now);
      });
      time.in(prng.whole(5_000, 40_000), () => (answer !== undefined && !prng.isLucky(0.1) ? undefined : attempt()));
    };
    attempt();
    // A client sends less often over time: otherwise a long run would get too many signals.
    const nextPauseMs = Math.min(Math.ceil(pauseMs * 1.1), 10_800_000);
    time.in(prng.whole(1, pauseMs) * paceOf(time.now), () => {
      if (this.#parts.isQuiet()) this.#stopped.push(() => this.#send(scope, key, nextPauseMs));
      else this.#send(scope, key, nextPauseMs);
    });
  }

  /** A run has begun, perhaps by a repeated start after all other runs had ended. */
  resume(): void {
    const { time } = this.#parts.around;
    for (const send of this.#stopped.splice(0)) time.in(1, send);
  }

  /** With the key of another signal: it must not be delivered. */
  #sendOther(scope: Scope, key: SignalKey, idempotencyKey: string): void {
    const id = signalId(`${idempotencyKey}-other`);
    this.#parts.signals.refuses(id);
    const { prng, time } = this.#parts.around;
    time.in(prng.whole(0, 40_000), () =>
      this.#parts.functions.invoke('api', async (decider) => {
        const request = { ...key, payload: { sent: id }, bodyHash: id, idempotencyKey, signalId: id };
        const { kind } = await sendSignal(decider, scope, request);
        runInvariant(9, kind === 'idempotency_conflict', `another signal with the key of ${idempotencyKey} was answered ${kind}`);
      }),
    );
  }
}
