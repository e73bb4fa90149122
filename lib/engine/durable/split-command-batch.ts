/**
 * Splits a command batch that is too large for one commit into several. The entries keep the order in which they happened. If the task
 * ends between two parts, the log shows a moment that the code passed through, and a replay continues from there.
 */
import { minJsonLength } from '../json.ts';
import { unreachable } from '../invariant.ts';
import { failureBytes, utf8Length, printedBytes } from '../log/event-limits.ts';
import type { Command, CommandBatch, CommandBatchEntry } from './command-batch.ts';

/**
 * Bytes of text in one commit: names, messages and printed lines, which are never offloaded and may not compress, plus an overhead for
 * each entry and its value. With the compressed structure of the events, this stays below the limit of a commit.
 */
export const maxPartBytes = 196_608;

/** Compressed structure, times and node of an event. */
const entryBytes = 24;
/** A larger value is offloaded if the commit needs it, and this is the size of its reference. */
const maxValueBytes = 160;

export interface SplitBatch {
  readonly part: CommandBatch;
  /** absent: nothing remains */
  readonly rest?: CommandBatch;
}

/** The first entries of the batch, at least one. Only the last part carries the batch's `next` and `wakeAt`. */
export function splitFirstPart(batch: CommandBatch, maxBytes: number = maxPartBytes): SplitBatch {
  const { entries, next: _next, wakeAt: _wakeAt, ...batchFields } = batch;
  let sum = 0;
  const end = entries.findIndex((entry) => (sum += weightOf(entry)) > maxBytes);
  const count = Math.max(1, end);
  if (end === -1 || count === entries.length) return { part: batch };
  return {
    part: { ...batchFields, entries: entries.slice(0, count), next: 'running' },
    rest: { ...batch, entries: entries.slice(count) },
  };
}

/** Half of the weight, for a part that still exceeds the commit limit; undefined for a single entry. */
export function halfWeightOf(batch: CommandBatch): number | undefined {
  const sum = batch.entries.reduce((all, entry) => all + weightOf(entry), 0);
  return batch.entries.length > 1 ? sum / 2 : undefined;
}

const weightOf = (entry: CommandBatchEntry): number => entryBytes + textBytesOfEntry(entry);

function textBytesOfEntry(entry: CommandBatchEntry): number {
  switch (entry.kind) {
    case 'scheduled':
      return textBytesOfCommand(entry.command);
    case 'completed':
      return utf8Length(entry.key) + printedBytes(entry.printed) + valueBytes(entry.output);
    case 'retried':
    case 'failed':
      return utf8Length(entry.key) + printedBytes(entry.printed) + failureBytes(entry.failure);
    case 'returned':
      return valueBytes(entry.output);
    case 'threw':
      return failureBytes(entry.failure);
    // The run's failure bounds this text.
    case 'rolled-back':
      return 0;
    default:
      return unreachable(entry);
  }
}

/** The log contains a key twice: as the step key and as the node id. */
function textBytesOfCommand(command: Command): number {
  const name = 2 * utf8Length(command.key);
  switch (command.kind) {
    case 'function':
    case 'rollback':
    case 'sleep':
      return name;
    case 'signal-send':
      return name + utf8Length(command.signal);
    case 'signal-wait':
      return name + 2 * utf8Length(command.signal) + utf8Length(command.correlation);
    case 'workflow':
      return name + 2 * utf8Length(command.workflowName) + valueBytes(command.input);
    default:
      return unreachable(command);
  }
}

const valueBytes = (value: Parameters<typeof minJsonLength>[0]): number =>
  Math.min(minJsonLength(value, maxValueBytes), maxValueBytes);
