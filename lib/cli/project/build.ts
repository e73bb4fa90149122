import { mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import * as z from 'zod';
import type { Action } from '../command.ts';
import { deploymentId, file, parseOptions } from '../parse-command-line.ts';
import { quantity } from '../format.ts';
import { type BuiltProject, buildProject } from './build-project.ts';
import { readProject } from './project.ts';
import { workflowLabel } from './workflow-label.ts';

const shape = z.object({ out: file.optional(), deploymentId: deploymentId.optional() });

export const build: Action = async (commandLine, context) => {
  const { out, deploymentId: requestedId } = parseOptions(commandLine, shape);
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
