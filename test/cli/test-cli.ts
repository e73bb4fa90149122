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
import { type InProcessApi, fetchOf, createInProcessApi } from '../client/in-process.ts';

export interface CliResult {
  readonly exitCode: number;
  readonly out: string;
  readonly err: string;
}

const successSchema = z.strictObject({ ok: z.literal(true), data: z.unknown() });
const errorSchema = z.strictObject({ ok: z.literal(false), error: z.looseObject({ code: z.string(), message: z.string() }) });

/** Parses the `data` of `--json` output with the given schema. */
export const dataIn = <Schema extends z.ZodType>({ out }: CliResult, schema: Schema): z.output<Schema> =>
  schema.parse(successSchema.parse(JSON.parse(out)).data);
export const errorIn = ({ out }: CliResult): z.output<typeof errorSchema>['error'] => errorSchema.parse(JSON.parse(out)).error;

export const url = 'https://api.example.com';

/** A new folder for the files of a command. */
export const createFolder = (): string => mkdtempSync(join(tmpdir(), 'cli-'));

export interface TestCli {
  readonly type: (...args: readonly string[]) => Promise<CliResult>;
  readonly sent: readonly { readonly method: string; readonly path: string; readonly headers: Headers }[];
  readonly questions: readonly string[];
  readonly openedUrls: readonly string[];
  readonly interrupt: () => void;
}

const requestTimeoutMs = 10_000;

/** Fails every request. */
export const refuseRequests: Terminal['fetch'] = () => Promise.reject(new Error('nothing was to be sent'));

export const createTestCli = (
  given: Partial<Terminal> & { readonly answer?: boolean; readonly typed?: string } = {},
): TestCli => {
  const sent: { method: string; path: string; headers: Headers }[] = [];
  const questions: string[] = [];
  const openedUrls: string[] = [];
  const interruption = new AbortController();
  let idCount = 0;
  return {
    sent,
    questions,
    openedUrls,
    interrupt: () => interruption.abort(),
    type: async (...args) => {
      let [out, err] = ['', ''];
      const home = createFolder();
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
            if (ms < requestTimeoutMs || signal.aborted) return resolve();
            signal.addEventListener('abort', () => resolve());
          }),
        newId: () => `0123456789ab-${(idCount += 1)}`,
        readInput: () => Promise.resolve(''),
        ...given,
        fetch: (target, init) => {
          const { pathname, search } = new URL(target);
          sent.push({ method: init?.method ?? 'GET', path: pathname + search, headers: new Headers(init?.headers) });
          return (given.fetch ?? refuseRequests)(target, init);
        },
        writeOut: (text) => void (out += text),
        writeErr: (text) => void (err += text),
        promptConfirm: (question) => {
          questions.push(question);
          return Promise.resolve(given.answer ?? false);
        },
        promptText: (question) => {
          questions.push(question);
          return Promise.resolve(given.typed ?? '');
        },
        openInBrowser: (page) => void openedUrls.push(page),
      });
      return { exitCode, out, err };
    },
  };
};

export interface CliEnvironment extends InProcessApi {
  /** a command line with a key of these scopes */
  readonly cliWithScopes: (
    scopes: readonly KeyScope[],
    given?: Parameters<typeof createTestCli>[0] & { readonly rateLimitPerMinute?: number },
  ) => Promise<TestCli>;
}

export const createCliEnvironment = (runners?: Parameters<typeof createInProcessApi>[0]): CliEnvironment => {
  const environment = createInProcessApi(runners);
  const { clock } = environment.api.world;
  const fetchApi = fetchOf(environment.api);
  return {
    ...environment,
    cliWithScopes: async (scopes, { rateLimitPerMinute = null, ...given } = {}) =>
      createTestCli({
        fetch: (target, init = {}) => fetchApi(target, init),
        now: () => clock.now(),
        sleep: (ms, signal) => clock.sleep(durationMs(ms), signal),
        ...given,
        env: {
          HOME: createFolder(),
          STEPWELL_URL: url,
          STEPWELL_API_KEY: await environment.api.key(scopes, { rateLimitPerMinute }),
          ...given.env,
        },
      }),
  };
};

export const expectExit = ({ exitCode, out, err }: CliResult, wanted: number): void =>
  expect({ exitCode, out, err }).toMatchObject({ exitCode: wanted });
