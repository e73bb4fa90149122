/** One GET and what came of it. Nothing that it asks changes anything, so it is tried again. */
import { defined } from '../../engine/defined.ts';
import type { Probe } from '../../ownership/check-ownership.ts';
import type { CommandContext } from '../command.ts';
import { messageOf } from '../describe-error.ts';

export interface RetryPolicy {
  readonly timeoutMs: number;
  readonly retries: number;
}

const firstPauseMs = 250;

export async function probeWithRetry(
  context: Pick<CommandContext, 'fetch' | 'signal' | 'sleep'>,
  url: string,
  token: string | undefined,
  { timeoutMs, retries }: RetryPolicy,
): Promise<Probe> {
  for (let previousAttempts = 0; ; previousAttempts += 1) {
    const probe = await probeOnce(context, url, token, timeoutMs);
    const isTransient = probe.kind === 'no_response' || probe.status === 429 || probe.status >= 500;
    if (!isTransient || previousAttempts === retries) return probe;
    await context.sleep(firstPauseMs * 2 ** previousAttempts, context.signal);
    context.signal.throwIfAborted();
  }
}

async function probeOnce(
  context: Pick<CommandContext, 'fetch' | 'signal'>,
  url: string,
  token: string | undefined,
  timeoutMs: number,
): Promise<Probe> {
  try {
    const response = await context.fetch(url, {
      headers: defined({ Accept: 'application/json', Authorization: token === undefined ? undefined : `Bearer ${token}` }),
      redirect: 'manual',
      signal: AbortSignal.any([context.signal, AbortSignal.timeout(timeoutMs)]),
    });
    return { kind: 'answered', status: response.status, body: await response.json().catch(() => undefined) };
  } catch (error) {
    context.signal.throwIfAborted();
    const reason = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return { kind: 'no_response', reason: messageOf(reason) };
  }
}
