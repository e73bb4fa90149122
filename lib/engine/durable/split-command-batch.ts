/**
 * A turn that is too much for one commit is written in several, one after the other. Its entries have the order in which they took
 * place, so whatever ends between two parts leaves the log as of a moment that the code went through, and a replay goes on from it.
 */
import { minJsonLength } from '../min-json-length.ts';
import { unreachable } from '../invariant.ts';
import { failureBytes, utf8Length, printedBytes } from '../log/event-limits.ts';
import type { Command, CommandBatch, CommandBatchEntry } from './command-batch.ts';

/**
 * What the entries of one commit may say, in bytes: names, messages and printed lines, which are never stored apart and may be
 * of a kind that does not compress, and a little for each entry and its value. With what compression leaves of the structure of
 * the events it stays below what a commit may have.
 */
export const maxPartBytes = 196_608;

/** What compression leaves of an event's structure, its times and its node. */
const entryBytes = 24;
/** A larger value is stored apart, where the commit needs it, and this is its reference. */
const maxValueBytes = 160;

export interface SplitBatch {
  readonly part: CommandBatch;
  /** absent: there is nothing left */
  readonly rest?: CommandBatch;
}

/** The first entries of the turn, at least one. Nothing is left of a turn but by its last part. */
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

/** The first half, where a part has turned out to be too large after all; undefined for one entry. */
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
    // What it says is bounded with the failure of the run.
    case 'rolled-back':
      return 0;
    default:
      return unreachable(entry);
  }
}

/** A key is in the log twice: as it is, and as the node's id. */
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
