/** Errors of external-worker runs in the format of all other failures. */
import { defined } from '../../base/defined.ts';
import { type JsonObject, type JsonValue, isJsonObject } from '../json.ts';
import { reportedFailure } from '../log/event-limits.ts';
import type { Failure } from '../log/events.ts';
import { deadlineExceeded } from './fold.ts';
import type { ErrorRecord } from './run.ts';

/** Frames and characters of a stack in a failure. */
const maxStack = { frames: 10, length: 2_000 } as const;

/** `details.at` is the first line of the stack in a file of the program: not in a package, and not in Node. */
export function externalFailure({ message, name, code, stack, ...rest }: ErrorRecord): Failure {
  if (message === deadlineExceeded.message) return { cause: 'timeout', code: 'deadline_exceeded', message };
  const frames = typeof stack === 'string' ? framesOf(stack) : '';
  const fields = isJsonObject(rest) ? withoutNull(rest) : {};
  return reportedFailure(
    defined({
      cause: 'error',
      message,
      code: textOf(code) ?? (name === 'Error' ? undefined : textOf(name)),
      details: { ...fields, ...(frames === '' ? {} : defined({ at: ownLine.exec(frames)?.[1], stack: frames })) },
    }),
  );
}

const textOf = (value: JsonValue | undefined): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

const withoutNull = (fields: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));

const framesOf = (stack: string): string =>
  stack
    .split('\n', maxStack.frames * 2)
    .filter((line) => /^\s+at /.test(line))
    .slice(0, maxStack.frames)
    .map((line) =>
      line
        .trim()
        .replace('file://', '')
        .replace(/\?[^:()\s]*/, ''),
    )
    .join('\n')
    .slice(0, maxStack.length)
    .toWellFormed();

const ownLine = /^at (?:.*\()?(?!node:|.*\/node_modules\/)([^()\s]+:\d+:\d+)\)?$/m;
