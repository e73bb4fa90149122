/** What a client is made from. Chance, sleep and the network come in here, so that a test needs no real time. */
import { randomUUID } from 'node:crypto';

export interface ClientOptions {
  /** with the stage where there is one, such as `https://….execute-api.eu-west-1.amazonaws.com/prod` */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** of one try, its answer included, in milliseconds; 10,000 */
  readonly timeoutMs?: number;
  /** tries after the first; 2 */
  readonly retries?: number;
  readonly fetchImpl?: Fetch;
  /** from 0 up to 1 */
  readonly random?: () => number;
  /** ends early, without an error, once the signal is aborted */
  readonly sleep?: Sleep;
  /** for correlation ids and idempotency keys: as good as never twice the same */
  readonly newId?: () => string;
}

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;
export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;

export interface ClientConfig extends Required<ClientOptions> {
  /** without a slash at its end */
  readonly baseUrl: string;
}

/** A timer of Node and of browsers holds no more; a longer one would end at once. */
const maxTimerMs = 2_147_483_647;

/** Throws a TypeError or RangeError for what can never work. The key is not repeated in it. */
export const resolveClientConfig = (options: ClientOptions): ClientConfig => {
  const { protocol, username, search, hash } = new URL(options.baseUrl);
  if (!/^https?:$/.test(protocol) || username !== '' || search !== '' || hash !== '')
    throw new TypeError('baseUrl must be an address of http or https, without user, query and fragment');
  if (!/^[\x21-\x7e]+$/.test(options.apiKey)) throw new TypeError('apiKey must be printable ASCII without spaces');
  return {
    baseUrl: options.baseUrl.replace(/\/+$/, ''),
    apiKey: options.apiKey,
    timeoutMs: validateInteger('timeoutMs', options.timeoutMs ?? 10_000, 1),
    retries: validateInteger('retries', options.retries ?? 2, 0),
    // Looked up at each call: whoever replaces the global one replaces it here too.
    fetchImpl: options.fetchImpl ?? ((url, init) => fetch(url, init)),
    random: options.random ?? Math.random,
    sleep: options.sleep ?? sleepByTimer,
    newId: options.newId ?? randomUUID,
  };
};

export const validateInteger = (name: string, value: number, min: number): number => {
  if (Number.isInteger(value) && value >= min && value <= maxTimerMs) return value;
  throw new RangeError(`${name} must be a whole number from ${min} to ${maxTimerMs}, and is ${value}`);
};

const sleepByTimer: Sleep = (ms, signal) =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const finish = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', finish);
      resolve();
    };
    const timer = setTimeout(finish, ms);
    signal.addEventListener('abort', finish);
  });
