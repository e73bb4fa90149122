/** One GET and what came of it. Nothing that it asks changes anything, so it is tried again. */
import type { Probe } from '../../ownership/judge-ownership.ts';
import type { Shell } from '../command.ts';
import { messageOf } from '../fault-of.ts';

export interface Patience {
  readonly timeoutMs: number;
  readonly retries: number;
}

const firstPauseMs = 250;

export async function probed(
  shell: Pick<Shell, 'fetch' | 'signal' | 'sleep'>,
  url: string,
  token: string | undefined,
  { timeoutMs, retries }: Patience,
): Promise<Probe> {
  for (let triesBefore = 0; ; triesBefore += 1) {
    const probe = await once(shell, url, token, timeoutMs);
    const isPassing = probe.kind === 'silent' || probe.status === 429 || probe.status >= 500;
    if (!isPassing || triesBefore === retries) return probe;
    await shell.sleep(firstPauseMs * 2 ** triesBefore, shell.signal);
    shell.signal.throwIfAborted();
  }
}

async function once(
  shell: Pick<Shell, 'fetch' | 'signal'>,
  url: string,
  token: string | undefined,
  timeoutMs: number,
): Promise<Probe> {
  try {
    const response = await shell.fetch(url, {
      headers: { Accept: 'application/json', ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }) },
      redirect: 'manual',
      signal: AbortSignal.any([shell.signal, AbortSignal.timeout(timeoutMs)]),
    });
    return { kind: 'answered', status: response.status, body: await response.json().catch(() => undefined) };
  } catch (trouble) {
    shell.signal.throwIfAborted();
    const reason = trouble instanceof Error && trouble.cause instanceof Error ? trouble.cause : trouble;
    return { kind: 'silent', reason: messageOf(reason) };
  }
}
