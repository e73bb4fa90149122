/** Options of the client. Tests can replace randomness, sleep and the network. */
import { randomUUID } from 'node:crypto';

export interface ClientOptions {
  /** the address, including the stage if there is one, such as `https://….execute-api.eu-west-1.amazonaws.com/prod` */
  readonly baseUrl: string;
  /**
   * the address of the start API (the output `StartApiUrl`), for starts, signals and reads of a run. It gets the same key. Default, and where
   * it is empty: `baseUrl`
   */
  readonly startUrl?: string | undefined;
  readonly apiKey: string;
  /** timeout of one attempt including its response in milliseconds, default 10,000 */
  readonly timeoutMs?: number;
  /** retries after the first attempt, default 2 */
  readonly retries?: number;
  readonly fetchImpl?: Fetch;
  /** returns a number from 0 to 1, excluding 1 */
  readonly random?: () => number;
  /** resolves early, without an error, when the signal is aborted */
  readonly sleep?: Sleep;
  /** for correlation ids and idempotency keys; must be unique */
  readonly newId?: () => string;
}

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;
export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;

export interface ClientConfig extends Required<ClientOptions> {
  /** both without a trailing slash */
  readonly baseUrl: string;
  readonly startUrl: string;
}

/** Maximum of timers in Node and browsers; a longer timer fires immediately. */
const maxTimerMs = 2_147_483_647;

/** Validates the options. @throws TypeError or RangeError; the message never contains the key */
export const resolveClientConfig = (options: ClientOptions): ClientConfig => {
  const baseUrl = validateAddress('baseUrl', options.baseUrl);
  const { startUrl } = options;
  if (!/^[\x21-\x7e]+$/.test(options.apiKey)) throw new TypeError('apiKey must be printable ASCII without spaces');
  return {
    baseUrl,
    startUrl: startUrl === undefined || startUrl === '' ? baseUrl : validateAddress('startUrl', startUrl),
    apiKey: options.apiKey,
    timeoutMs: validateInteger('timeoutMs', options.timeoutMs ?? 10_000, 1),
    retries: validateInteger('retries', options.retries ?? 2, 0),
    // Resolved on each call, so that a replaced global fetch is used.
    fetchImpl: options.fetchImpl ?? ((url, init) => fetch(url, init)),
    random: options.random ?? Math.random,
    sleep: options.sleep ?? sleepByTimer,
    newId: options.newId ?? randomUUID,
  };
};

/** Without a trailing slash. */
function validateAddress(name: 'baseUrl' | 'startUrl', address: string): string {
  const { protocol, username, search, hash } = new URL(address);
  if (!/^https?:$/.test(protocol) || username !== '' || search !== '' || hash !== '')
    throw new TypeError(`${name} must be an http or https address without user, query and fragment`);
  return address.replace(/\/+$/, '');
}

export const validateInteger = (name: string, value: number, min: number): number => {
  if (Number.isInteger(value) && value >= min && value <= maxTimerMs) return value;
  throw new RangeError(`${name} must be a whole number from ${min} to ${maxTimerMs} (value: ${value})`);
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
