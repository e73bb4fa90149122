/** `stepwell build` and `stepwell dev`. */
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import * as z from 'zod';
import { workflowLabel } from '../actions/compare-deployments.ts';
import { deployArtifact } from '../actions/deploy.ts';
import { type Action, CliError, type CommandContext } from '../command.ts';
import { consoleLine } from '../console-link.ts';
import { describeError } from '../describe-error.ts';
import { quantity } from '../format.ts';
import { deploymentId, file, integerBetween, parseOptions } from '../parse-command-line.ts';
import type { StepwellClient } from '../../client/index.ts';
import { buildProject, type BuiltProject, workflowFiles } from './build-project.ts';
import { ensureCloud, requireCloud } from './ensure-cloud.ts';
import { type Project, readProject } from './project.ts';
import { printRunLines } from './run-lines.ts';

const buildOptions = z.object({ out: file.optional(), deploymentId: deploymentId.optional() });

export const build: Action = async (commandLine, context) => {
  const { out, deploymentId: requestedId } = parseOptions(commandLine, buildOptions);
  const project = await readProject(context);
  const built = await buildProject(context, project, requestedId);
  const id = built.manifest.deploymentId;
  const directory = out ?? join(project.root, '.stepwell', 'build', id);
  mkdirSync(directory, { recursive: true });
  const files = { manifest: join(directory, 'manifest.json'), artifact: join(directory, 'artifact.tgz') };
  writeFileSync(files.manifest, `${JSON.stringify(built.manifest, null, 2)}\n`);
  writeFileSync(files.artifact, built.archive);
  const { workflows, sources, moduleBytes } = built;
  const text = [
    ...workflows.map((each) => `${workflowLabel(each)}  ${context.colorize('dim', each.file)}`),
    formatSizes(built),
    relative(context.cwd, files.artifact),
  ];
  const data = {
    deploymentId: id,
    workflows,
    sources: sources.length,
    moduleBytes,
    artifactBytes: built.archive.byteLength,
    ...files,
  };
  return { data, text: text.join('\n') };
};

export const formatSizes = ({ manifest, sources, moduleBytes, archive }: BuiltProject): string =>
  `${manifest.deploymentId}: ${quantity(sources.length, 'file')} in one of ${moduleBytes} bytes, ${archive.byteLength} packed`;

/** Pause between two checks of the files. A change counts once two checks agree, so that several writes cause one build. */
const pollIntervalMs = 200;

const devOptions = z.object({
  port: integerBetween(0, 65_535).optional(),
  allowLocalhost: z.boolean().default(false),
  start: z.boolean().default(true),
  yes: z.boolean().default(false),
  browser: z.boolean().default(true),
  url: z.string().optional(),
  profile: z.string().optional(),
});

/** The command line or the environment names an installation, so no embedded cloud is needed. */
const namesInstallation = ({ url, profile }: z.output<typeof devOptions>, { env }: Pick<CommandContext, 'env'>): boolean =>
  [url, profile, env['STEPWELL_URL'], env['STEPWELL_PROFILE']].some((value) => value !== undefined && value !== '');

/** The page that `dev` shows to the author: the description of the API. It is JSON, so no browser opens by itself. */
const developmentPage = (url: string): string => `${url}/v1/openapi.json`;

export const dev: Action = async (commandLine, context) => {
  const options = parseOptions(commandLine, devOptions);
  const project = await readProject(context);
  const isEmbedded = !namesInstallation(options, context);
  if (isEmbedded && !options.start) requireCloud(context, options);
  const cloud = isEmbedded && options.start ? await ensureCloud(context, options) : undefined;
  try {
    const client = await context.client({ isEmbedded: true });
    const { url } = await context.connection();
    context.print(`API ${url}/v1, of ${project.root}. Ctrl-C ends.`);
    context.print(`Routes ${developmentPage(url)}`);
    const working = Promise.all([
      deployChanges(context, client, project, isEmbedded || options.yes),
      printRunLines(context, client),
      showConsole(context, client, options.browser),
    ]);
    await Promise.race([working, ...(cloud === undefined ? [] : [cloud.ended])]);
  } finally {
    await cloud?.stop();
  }
  context.signal.throwIfAborted();
  return { data: {}, text: '' };
};

/** Prints the link of the console, and opens it in the browser of an interactive terminal. */
async function showConsole(context: CommandContext, client: StepwellClient, opens: boolean): Promise<void> {
  const { url } = await context.connection();
  const { line, address } = await consoleLine(client, url, context.signal);
  context.print(line);
  if (opens && address !== undefined && !context.isJson) context.openInBrowser?.(address);
}

/**
 * Builds and deploys the project at every change, until the signal is aborted.
 * @param allowsRemoval removes a workflow that the author renames or deletes without asking, also if open runs or schedules use it
 */
async function deployChanges(
  context: CommandContext,
  client: StepwellClient,
  project: Project,
  allowsRemoval: boolean,
): Promise<void> {
  let lastFingerprint = '';
  let built: BuiltProject | undefined;
  while (!context.signal.aborted) {
    const sources = built?.sources ?? [];
    const fingerprint = await waitForStableFiles(context, project, sources, lastFingerprint);
    if (fingerprint === undefined) break;
    lastFingerprint = fingerprint;
    try {
      const previousDeploymentId = built?.manifest.deploymentId;
      const newBuild = await buildProject(context, project, undefined);
      // A file changed during the build, so the build may be inconsistent. The next check builds again.
      if (fingerprintFiles(project, sources) !== fingerprint) continue;
      built = newBuild;
      if (built.manifest.deploymentId === previousDeploymentId) continue;
      const { text } = await deployArtifact(context, client, built, { shouldActivate: true, allowsRemoval });
      context.print(text);
    } catch (error) {
      if (context.signal.aborted) break;
      // The next change may fix the error, so `dev` continues.
      context.log(error instanceof CliError ? error.message : describeError(error).error.message);
    }
  }
}

/** @returns the fingerprint once the files differ from `lastFingerprint` and are stable; undefined if interrupted */
async function waitForStableFiles(
  { sleep, signal }: Pick<CommandContext, 'sleep' | 'signal'>,
  project: Project,
  sources: readonly string[],
  lastFingerprint: string,
): Promise<string | undefined> {
  let previous = lastFingerprint;
  for (;;) {
    const fingerprint = fingerprintFiles(project, sources);
    if (fingerprint !== lastFingerprint && fingerprint === previous) return fingerprint;
    previous = fingerprint;
    await sleep(pollIntervalMs, signal);
    if (signal.aborted) return undefined;
  }
}

/** Fingerprint of the workflow files and of the sources of the last build. */
function fingerprintFiles(project: Project, sources: readonly string[]): string {
  const files = [...findWorkflowFiles(project).map((file) => join(project.root, file)), ...sources];
  const fingerprints = [...new Set(files)].map((path) => {
    const stats = statSync(path, { throwIfNoEntry: false });
    return `${path} ${stats?.mtimeMs ?? 'missing'} ${stats?.size ?? 0}`;
  });
  return fingerprints.join('\n');
}

/** Empty while the project has no workflow files. */
function findWorkflowFiles(project: Project): readonly string[] {
  try {
    return workflowFiles(project);
  } catch (error) {
    if (error instanceof CliError) return [];
    throw error;
  }
}
