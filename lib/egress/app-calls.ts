/** Sends messages to applications, behind the guard of the http node. The whole URL is fixed, so no redirect is followed. */
import { fetch } from 'undici';
import type { JsonValue } from '../engine/json.ts';
import { type NetworkAccess, destinationOf, forbiddenMessage, pinnedAgent, publicInternet } from './destination.ts';
import { between } from '../engine/time.ts';
import type { Clock } from '../ports/clock.ts';
import type { AppCalls, AppRequest, AppResponse } from '../ports/devkit.ts';

/** The answer to a message is a few fields. */
const maxAnswerLength = 65_536;

export class HttpAppCalls implements AppCalls {
  readonly #access: () => NetworkAccess;
  readonly #clock: Pick<Clock, 'now'>;

  constructor(access: () => NetworkAccess, clock: Pick<Clock, 'now'>) {
    this.#access = access;
    this.#clock = clock;
  }

  async post(request: AppRequest, { endsAt }: Parameters<AppCalls['post']>[1]): Promise<AppResponse> {
    const url = new URL(request.url);
    const destination = await destinationOf(url.hostname, this.#access());
    if ('refused' in destination)
      return failed(
        destination.refused === 'forbidden' ? forbiddenMessage(url.hostname) : `the name ${url.hostname} has no address`,
      );
    const isPublic = destination.addresses.some(({ address }) => publicInternet.isAllowed(address, url.hostname));
    if (url.protocol === 'http:' && isPublic) return failed(`${url.origin} is on the internet, so its address begins with https`);
    const agent = pinnedAgent(destination.addresses);
    try {
      const { headers, body } = request;
      const signal = AbortSignal.timeout(Math.max(1, between(this.#clock.now(), endsAt)));
      const response = await fetch(url, { method: 'POST', headers, body, redirect: 'manual', dispatcher: agent, signal });
      const text = await response.text();
      return { kind: 'responded', status: response.status, body: text.length > maxAnswerLength ? undefined : jsonIn(text) };
    } catch (error) {
      return failed(`the request to ${url.origin} failed: ${reasonOf(error)}`);
    } finally {
      await agent.destroy();
    }
  }
}

const failed = (reason: string): AppResponse => ({ kind: 'failed', reason });

/** fetch reports only that it failed; the reason is in the cause. */
const reasonOf = (error: unknown): string => {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message : String(cause);
};

function jsonIn(text: string): JsonValue | undefined {
  try {
    const value: JsonValue = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}
