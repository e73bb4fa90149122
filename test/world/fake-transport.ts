/** A transport that records the calls of a World and answers them from a script. */
import type { CallBody, CallResult, WorldMethod, WorldTransport } from '../../lib/world/calls.ts';
import type { TaggedValue } from '../../lib/world/tagged-json.ts';
import type { World } from '../../lib/world/types.ts';
import { type WorldHost, buildWorld } from '../../lib/world/world.ts';

export interface RecordedCall {
  readonly method: WorldMethod;
  readonly body: CallBody;
}

export type Answer = (call: RecordedCall) => CallResult;

export const answered = (value: TaggedValue): CallResult => ({ kind: 'answered', value });

export class FakeTransport implements WorldTransport {
  readonly calls: RecordedCall[] = [];
  readonly #answer: Answer;

  constructor(answer: Answer = () => answered(null)) {
    this.#answer = answer;
  }

  async call(method: WorldMethod, body: CallBody): Promise<CallResult> {
    this.calls.push({ method, body });
    return this.#answer({ method, body });
  }
}

const plainHost: WorldHost = {
  capabilities: { hookResumeDedup: true },
  deploymentId: async () => undefined,
  runtimeDeadline: () => undefined,
  checkDelivery: async () => undefined,
  start: async () => {},
};

export const worldOver = (transport: WorldTransport, host: Partial<WorldHost> = {}, sleeps: number[] = []): World =>
  buildWorld({
    transport,
    host: { ...plainHost, ...host },
    specVersion: () => 5,
    sleep: async (ms) => void sleeps.push(ms),
  });
