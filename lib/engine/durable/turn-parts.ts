/**
 * A turn that is too much for one commit is written in several, one after the other. Its entries have the order in which they took
 * place, so whatever ends between two parts leaves the log as of a moment that the code went through, and a replay goes on from it.
 */
import { leastLengthOf } from '../least-length.ts';
import { unreachable } from '../invariant.ts';
import { failureWords, utf8Length, wordsOf } from '../log/event-limits.ts';
import type { Command, Turn, TurnEntry } from './turn.ts';

/**
 * What the entries of one commit may say, in bytes: names, messages and printed lines, which are never stored apart and may be
 * of a kind that does not compress, and a little for each entry and its value. With what compression leaves of the structure of
 * the events it stays below what a commit may have.
 */
export const mostInPart = 196_608;

/** What compression leaves of an event's structure, its times and its node. */
const entryBytes = 24;
/** A larger value is stored apart, where the commit needs it, and this is its reference. */
const mostOfValue = 160;

export interface Parted {
  readonly part: Turn;
  /** absent: there is nothing left */
  readonly rest?: Turn;
}

/** The first entries of the turn, at least one. Nothing is left of a turn but by its last part. */
export function firstPart(turn: Turn, most: number = mostInPart): Parted {
  const { entries, next: _next, wakeAt: _wakeAt, ...told } = turn;
  let sum = 0;
  const end = entries.findIndex((entry) => (sum += weightOf(entry)) > most);
  const count = Math.max(1, end);
  if (end === -1 || count === entries.length) return { part: turn };
  return {
    part: { ...told, entries: entries.slice(0, count), next: 'goes_on' },
    rest: { ...turn, entries: entries.slice(count) },
  };
}

/** The first half, where a part has turned out to be too large after all; undefined for one entry. */
export function halfOf(turn: Turn): number | undefined {
  const sum = turn.entries.reduce((all, entry) => all + weightOf(entry), 0);
  return turn.entries.length > 1 ? sum / 2 : undefined;
}

const weightOf = (entry: TurnEntry): number => entryBytes + wordsInEntry(entry);

function wordsInEntry(entry: TurnEntry): number {
  switch (entry.kind) {
    case 'asked':
      return wordsInCommand(entry.command);
    case 'completed':
      return utf8Length(entry.key) + wordsOf(entry.printed) + valueIn(entry.output);
    case 'retried':
    case 'failed':
      return utf8Length(entry.key) + wordsOf(entry.printed) + failureWords(entry.failure);
    case 'returned':
      return valueIn(entry.output);
    case 'threw':
      return failureWords(entry.failure);
    // What it says is bounded with the failure of the run.
    case 'rolled-back':
      return 0;
    default:
      return unreachable(entry);
  }
}

/** A key is in the log twice: as it is, and as the node's id. */
function wordsInCommand(command: Command): number {
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
      return name + 2 * utf8Length(command.workflowName) + valueIn(command.input);
    default:
      return unreachable(command);
  }
}

const valueIn = (value: Parameters<typeof leastLengthOf>[0]): number => Math.min(leastLengthOf(value, mostOfValue), mostOfValue);
