/** Runs the command line against the HTTP functions on in-memory ports, and captures stdout and stderr. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import * as z from 'zod';
// Imported before the tests run: virtual time does not wait for module loading.
import '../../lib/cli/connection.ts';
import '../../lib/cli/describe-error.ts';
import '../../lib/cli/actions/bulk-runs.ts';
import '../../lib/cli/actions/runs.ts';
import '../../lib/cli/actions/runs.ts';
import { runCli } from '../../lib/cli/run-cli.ts';
import type { Terminal } from '../../lib/cli/command.ts';
import { durationMs } from '../../lib/engine/time.ts';
import type { KeyScope } from '../../lib/ports/control.ts';
import { type InProcess, fetchOf, inProcess } from '../client/in-process.ts';

export interface Printed {
  readonly exitCode: number;
  readonly out: string;
  readonly err: string;
}

const done = z.strictObject({ ok: z.literal(true), data: z.unknown() });
const refused = z.strictObject({ ok: z.literal(false), error: z.looseObject({ code: z.string(), message: z.string() }) });

/** Parses the `data` of `--json` output with the given schema. */
export const dataIn = <Schema extends z.ZodType>({ out }: Printed, schema: Schema): z.output<Schema> =>
  schema.parse(done.parse(JSON.parse(out)).data);
export const errorIn = ({ out }: Printed): z.output<typeof refused>['error'] => refused.parse(JSON.parse(out)).error;

export const url = 'https://api.example.com';

/** A new folder for the files of a command. */
export const freshFolder = (): string => mkdtempSync(join(tmpdir(), 'cli-'));

export interface Typist {
  readonly type: (...args: readonly string[]) => Promise<Printed>;
  readonly sent: readonly { readonly method: string; readonly path: string; readonly headers: Headers }[];
  readonly asked: readonly string[];
  readonly opened: readonly string[];
  readonly interrupt: () => void;
}

const requestMs = 10_000;

/** Fails every request. */
export const nobody: Terminal['fetch'] = () => Promise.reject(new Error('nothing was to be sent'));

export const typist = (given: Partial<Terminal> & { readonly answer?: boolean; readonly typed?: string } = {}): Typist => {
  const sent: { method: string; path: string; headers: Headers }[] = [];
  const asked: string[] = [];
  const opened: string[] = [];
  const interruption = new AbortController();
  let ids = 0;
  return {
    sent,
    asked,
    opened,
    interrupt: () => interruption.abort(),
    type: async (...args) => {
      let [out, err] = ['', ''];
      const home = freshFolder();
      const exitCode = await runCli(args, {
        env: { HOME: home },
        cwd: home,
        supportsColour: false,
        isInteractive: false,
        signal: interruption.signal,
        now: () => Date.UTC(2026, 0, 1),
        // Pauses end immediately; request timeouts never fire.
        sleep: (ms, signal) =>
          new Promise((resolve) => {
            if (ms < requestMs || signal.aborted) return resolve();
            signal.addEventListener('abort', () => resolve());
          }),
        newId: () => `0123456789ab-${(ids += 1)}`,
        ...given,
        fetch: (target, init) => {
          const { pathname, search } = new URL(target);
          sent.push({ method: init?.method ?? 'GET', path: pathname + search, headers: new Headers(init?.headers) });
          return (given.fetch ?? nobody)(target, init);
        },
        writeOut: (text) => void (out += text),
        writeErr: (text) => void (err += text),
        promptConfirm: (question) => {
          asked.push(question);
          return Promise.resolve(given.answer ?? false);
        },
        promptText: (question) => {
          asked.push(question);
          return Promise.resolve(given.typed ?? '');
        },
        openInBrowser: (page) => void opened.push(page),
      });
      return { exitCode, out, err };
    },
  };
};

export interface CliHere extends InProcess {
  /** a command line with a key of these scopes */
  readonly typistOf: (
    scopes: readonly KeyScope[],
    given?: Parameters<typeof typist>[0] & { readonly rateLimitPerMinute?: number },
  ) => Promise<Typist>;
}

export const cliHere = (): CliHere => {
  const here = inProcess();
  const { clock } = here.api.world;
  const fetchHere = fetchOf(here.api);
  return {
    ...here,
    typistOf: async (scopes, { rateLimitPerMinute = null, ...given } = {}) =>
      typist({
        fetch: (target, init = {}) => fetchHere(target, init),
        now: () => clock.now(),
        sleep: (ms, signal) => clock.sleep(durationMs(ms), signal),
        ...given,
        env: {
          HOME: freshFolder(),
          STEPWELL_URL: url,
          STEPWELL_API_KEY: await here.api.key(scopes, { rateLimitPerMinute }),
          ...given.env,
        },
      }),
  };
};

export const expectExit = ({ exitCode, out, err }: Printed, wanted: number): void =>
  expect({ exitCode, out, err }).toMatchObject({ exitCode: wanted });
