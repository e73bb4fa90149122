/** Reads the cloud assembly: every stack's template, and the paths of the bundled assets. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';

const manifestShape = z.object({
  artifacts: z.record(
    z.string(),
    z.looseObject({
      type: z.string(),
      displayName: z.string().optional(),
      properties: z.looseObject({ templateFile: z.string().optional(), stackName: z.string().optional() }).optional(),
    }),
  ),
});

const assetsShape = z.object({
  files: z.record(z.string(), z.looseObject({ source: z.looseObject({ path: z.string().optional() }) })).default({}),
});

const resourceShape = z.looseObject({
  Type: z.string(),
  Properties: z.record(z.string(), z.unknown()).default({}),
  Condition: z.string().optional(),
  Metadata: z.looseObject({ 'aws:cdk:path': z.string().optional() }).optional(),
});

const templateShape = z.looseObject({
  Resources: z.record(z.string(), resourceShape).default({}),
  Parameters: z.record(z.string(), z.looseObject({ Type: z.string(), Default: z.unknown() })).default({}),
  Outputs: z
    .record(z.string(), z.looseObject({ Value: z.unknown(), Export: z.object({ Name: z.unknown() }).optional() }))
    .default({}),
  Conditions: z.record(z.string(), z.unknown()).default({}),
  Mappings: z.record(z.string(), z.record(z.string(), z.record(z.string(), z.unknown()))).default({}),
});

export type StackTemplate = z.infer<typeof templateShape>;
export type RawResource = z.infer<typeof resourceShape>;

export interface Stack {
  readonly name: string;
  readonly template: StackTemplate;
}

export interface Assembly {
  readonly stacks: readonly Stack[];
  /** the directory or file of an asset, by its hash: the name of its S3 key without the extension */
  assetPath(hash: string): string | undefined;
}

const read = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));

export const parseTemplate = (template: unknown): StackTemplate => templateShape.parse(template);

export function loadAssembly(directory: string): Assembly {
  const { artifacts } = manifestShape.parse(read(join(directory, 'manifest.json')));
  const assets = new Map<string, string>();
  const stacks: Stack[] = [];
  for (const [id, artifact] of Object.entries(artifacts)) {
    const file = artifact.properties?.templateFile;
    if (artifact.type === 'aws:cloudformation:stack' && file !== undefined) {
      const name = artifact.properties?.stackName ?? artifact.displayName ?? id;
      stacks.push({ name, template: parseTemplate(read(join(directory, file))) });
    }
    const assetFile = artifact.properties?.['file'];
    if (artifact.type === 'cdk:asset-manifest' && typeof assetFile === 'string') {
      for (const [hash, { source }] of Object.entries(assetsShape.parse(read(join(directory, assetFile))).files)) {
        if (source.path !== undefined) assets.set(hash, join(directory, source.path));
      }
    }
  }
  return { stacks, assetPath: (hash) => assets.get(hash) };
}
