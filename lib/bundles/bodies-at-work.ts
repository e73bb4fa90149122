/** Which bodies of a drive may be at work, as far as its commits say: one begins when what asked for it is committed. */
import { type History, type Turn, type TurnEntry } from '../engine/durable/turn.ts';
import { type Attempt, attempt, firstAttempt } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';

interface Body {
  readonly attempt: Attempt;
  /** it has not begun before this */
  readonly from?: Instant;
}

export interface BodyAtWork {
  readonly key: string;
  readonly attempt: Attempt;
}

export class BodiesAtWork {
  readonly #bodies = new Map<string, Body>();

  /** What a drive before this one began is not at work here: of it the drive speaks in its first turn. */
  constructor(open: History<unknown>['open']) {
    for (const { key, attempt: of, retryAt } of open)
      if (retryAt !== undefined) this.#bodies.set(key, { attempt: of, from: retryAt });
  }

  note({ entries }: Turn): void {
    for (const entry of entries) this.#noteEntry(entry);
  }

  at(now: Instant): readonly BodyAtWork[] {
    return [...this.#bodies]
      .filter(([, { from }]) => from === undefined || from <= now)
      .map(([key, { attempt: of }]) => ({ key, attempt: of }));
  }

  #noteEntry(entry: TurnEntry): void {
    switch (entry.kind) {
      case 'asked':
        if (entry.command.kind === 'function' || entry.command.kind === 'rollback')
          this.#bodies.set(entry.command.key, { attempt: firstAttempt });
        return;
      case 'retried':
        this.#bodies.set(entry.key, { attempt: attempt(entry.attempt + 1), from: entry.retryAt });
        return;
      case 'completed':
      case 'failed':
        this.#bodies.delete(entry.key);
        return;
      case 'returned':
      case 'threw':
      case 'rolled-back':
        return;
    }
  }
}
