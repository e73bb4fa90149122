/** A recorded history, and the command batches of the code on it when it was recorded. */
import type { History, RunFacts, CommandBatch } from '../../lib/engine/durable/command-batch.ts';
import type { JsonValue } from '../../lib/engine/json.ts';
import { saidOf } from '../program/driven-run.ts';

export interface RecordedHistory {
  readonly program: string;
  readonly run: RunFacts;
  readonly input: JsonValue;
  /** one for each workflow task, and one for the whole log */
  readonly workflowTasks: readonly {
    readonly history: History<JsonValue>;
    /** its first command batch in short form, with the code's result */
    readonly first: readonly string[];
  }[];
}

export const summaryOf = (batch: Pick<CommandBatch, 'entries'>): readonly string[] =>
  batch.entries.map((entry) => {
    if (entry.kind === 'returned') return `returned ${JSON.stringify(entry.output)}`;
    if (entry.kind === 'threw') return `threw ${entry.failure.code ?? entry.failure.cause}: ${entry.failure.message}`;
    if (entry.kind === 'scheduled') return `scheduled ${entry.command.kind} ${entry.command.key}`;
    return saidOf(entry);
  });
