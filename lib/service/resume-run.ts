/** Tells a run that it shall go on, and why: the log keeps the reason and what was brought, and whatever sleeps is woken. */
import type { RunAddress } from '../engine/ids.ts';
import { type JsonValue, inline } from '../engine/json.ts';
import type { TerminalStatus } from '../engine/log/head.ts';
import { askRun, endOf } from './ask-run.ts';
import type { Decider } from './decide-run.ts';
import { readRun } from './read-log.ts';

export interface Resumption {
  readonly reason?: string;
  readonly payload?: JsonValue;
}

export type ResumeAnswer =
  | { readonly kind: 'resumed' }
  | { readonly kind: 'not_found' }
  /** the run had ended, before or while this was asked */
  | { readonly kind: 'run_terminal'; readonly status: TerminalStatus };

export async function resumeRun(decider: Decider, run: RunAddress, { reason, payload }: Resumption): Promise<ResumeAnswer> {
  const fold = await readRun(decider.deps, run);
  if (fold === undefined) return { kind: 'not_found' };
  const before = endOf(fold);
  if (before !== undefined) return { kind: 'run_terminal', status: before };
  const appended = await askRun(decider, fold, {
    kind: 'resume-requested',
    ...(reason === undefined ? {} : { reason }),
    ...(payload === undefined ? {} : { payload: inline(payload) }),
  });
  const since = endOf(fold);
  return appended.kind === 'committed' || since === undefined ? { kind: 'resumed' } : { kind: 'run_terminal', status: since };
}
