/** The clock of a state folder: its offset survives restarts, and `stepwell clock advance` increases it over HTTP. */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { type IncomingMessage, createServer } from 'node:http';
import { join } from 'node:path';
import * as z from 'zod';
import { listen, readBody } from '../http/listen.ts';
import { readPrivateJson, writePrivateJson } from '../instance-folder.ts';
import { SettingsError } from '../settings.ts';
import { shiftClock } from './shifted-clock.ts';

const storedShape = z.object({ offsetMs: z.number().min(0) });
const requestShape = z.strictObject({ advanceMs: z.number().int().min(1) });

/** Longer than any wait: a run's deadline is at most a year. */
const maxOffsetMs = 400 * 86_400_000;

export interface CloudClock {
  /** how far the clock is ahead of this machine's */
  readonly offsetMs: () => number;
  /** @returns the new offset; undefined where it would exceed the maximum */
  readonly advance: (ms: number) => number | undefined;
}

/** Shifts the clock of this process by the stored offset. Call it before anything reads the time. */
export function openClock(directory: string): CloudClock {
  const file = join(directory, 'state', 'clock.json');
  mkdirSync(join(directory, 'state'), { recursive: true, mode: 0o700 });
  const stored = storedShape.safeParse(existsSync(file) ? readPrivateJson(file) : { offsetMs: 0 });
  if (!stored.success)
    throw new SettingsError(`${file} does not contain the offset of the clock: delete the state folder and start again`);
  let { offsetMs } = stored.data;
  const { setOffset } = shiftClock(offsetMs);
  return {
    offsetMs: () => offsetMs,
    advance(ms) {
      if (offsetMs + ms > maxOffsetMs) return undefined;
      offsetMs += ms;
      // Stored first: after a crash in between, the clock must not go back.
      writePrivateJson(file, { offsetMs });
      setOffset(offsetMs);
      return offsetMs;
    },
  };
}

export interface ClockServer {
  readonly url: string;
  /** a secret of this start: the state folder contains it */
  readonly token: string;
  readonly close: () => Promise<void>;
}

const maxBodyBytes = 1_000;

/** @param onAdvance the timers of the cloud are due earlier now */
export async function openClockServer(clock: CloudClock, onAdvance: () => void): Promise<ClockServer> {
  const token = randomBytes(24).toString('hex');
  const isAuthorized = ({ headers: { authorization = '' } }: IncomingMessage): boolean => {
    const [given, expected] = [authorization, `Bearer ${token}`].map((text) => Buffer.from(text));
    return given !== undefined && expected !== undefined && given.length === expected.length && timingSafeEqual(given, expected);
  };
  const answer = async (request: IncomingMessage): Promise<readonly [number, object]> => {
    if (!isAuthorized(request)) return [403, { message: 'This address is for the command line: stepwell clock advance' }];
    const body = await readBody(request, maxBodyBytes);
    const parsed = requestShape.safeParse(body === 'too large' ? undefined : parseJson(body.toString('utf8')));
    if (!parsed.success) return [400, { message: 'The body must be { "advanceMs": <milliseconds> }' }];
    const offsetMs = clock.advance(parsed.data.advanceMs);
    if (offsetMs === undefined) return [409, { message: `The clock can be at most ${maxOffsetMs / 86_400_000} days ahead` }];
    onAdvance();
    return [200, { offsetMs, now: new Date().toISOString() }];
  };
  const server = createServer((request, response) => {
    void answer(request)
      .catch((error: unknown): readonly [number, object] => [500, { message: String(error) }])
      .then(([status, body]) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body)));
  });
  const listening = await listen(server, 0);
  return { url: listening.url, token, close: () => listening.close() };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
