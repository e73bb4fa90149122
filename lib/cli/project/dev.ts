/** Builds a project whenever one of its files changes, and gives what it built to the embedded cloud. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { type Action, CliError, type CommandContext } from '../command.ts';
import { deployArtifact } from '../deployments/deploy-artifact.ts';
import { describeError } from '../describe-error.ts';
import { type BuiltProject, buildProject } from './build-project.ts';
import { type Project, readProject } from './project.ts';
import { workflowFiles } from './workflow-files.ts';

/** Between two looks at the files. A change counts once a look finds nothing new: whoever writes many files has ended by then. */
const pollIntervalMs = 200;

export const dev: Action = async (_commandLine, context) => {
  const project = await readProject(context);
  const client = await context.client({ isEmbedded: true });
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
      // Changed meanwhile: it may be half of this and half of that, and the next look finds it anyway.
      if (fingerprintFiles(project, sources) !== fingerprint) continue;
      built = newBuild;
      if (built.manifest.deploymentId === previousDeploymentId) continue;
      const { text } = await deployArtifact(context, client, built, { shouldActivate: true });
      context.print(text);
    } catch (error) {
      if (context.signal.aborted) break;
      // It may be mended by the next change: nothing that is wrong now ends this.
      context.log(error instanceof CliError ? error.message : describeError(error).error.message);
    }
  }
  context.signal.throwIfAborted();
  return { data: {}, text: '' };
};

/** @returns what the files are once they are others than `seen` and stay so; undefined: interrupted */
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

/** Files that may hold workflows, and those that went into the last build. */
function fingerprintFiles(project: Project, sources: readonly string[]): string {
  const files = [...findWorkflowFiles(project).map((file) => join(project.root, file)), ...sources];
  const fingerprints = [...new Set(files)].map((path) => {
    const stats = statSync(path, { throwIfNoEntry: false });
    return `${path} ${stats?.mtimeMs ?? 'gone'} ${stats?.size ?? 0}`;
  });
  return fingerprints.join('\n');
}

/** None where there is none at the moment. */
function findWorkflowFiles(project: Project): readonly string[] {
  try {
    return workflowFiles(project);
  } catch (error) {
    if (error instanceof CliError) return [];
    throw error;
  }
}
