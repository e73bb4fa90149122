/** Fixture: deployments with code from the test, and a host that runs them. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { packArchive } from '../../lib/artifact/pack-archive.ts';
import { type BundleHost, LocalBundles } from '../../lib/bundles/local-bundles.ts';
import { type ThreadSlotSettings, ThreadSlots } from '../../lib/bundles/thread-slots.ts';
import type { PrintedLine } from '../../lib/bundles/bundle-thread.ts';
import { deploymentId, environment, projectId } from '../../lib/engine/ids.ts';
import { durationMs, after, instant } from '../../lib/engine/time.ts';
import { MemoryArtifacts } from '../../lib/memory/deployments.ts';
import { type BundleResult, bundlePaths } from '../../lib/ports/bundles.ts';
import { type DevKitBuild, type Manifest, defaultApp } from '../../lib/ports/deployments.ts';

export const scope = { projectId: projectId('proj'), environment: environment('test') };
const clock = { now: () => instant(Date.now()), sleep: async () => {} };

export const freshFolder = (): string => mkdtempSync(join(tmpdir(), 'stepwell-bundles-'));

interface Asked {
  readonly queueName?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly withinMs?: number;
  readonly signal?: AbortSignal;
}

export interface Host {
  readonly bundles: LocalBundles;
  readonly artifacts: MemoryArtifacts;
  readonly printed: PrintedLine[];
  readonly folder: string;
  /** Uploads an artifact and returns its manifest. */
  deploy(name: string, files: string | Readonly<Record<string, string>>, devkit?: DevKitBuild): Promise<Manifest>;
  ask(manifest: Manifest, asked?: Asked): Promise<BundleResult>;
}

/** A single string is the code of the workflow bundle. */
export function hostOf(
  settings: Pick<ThreadSlotSettings, 'limits'> &
    Pick<BundleHost, 'readCredentialVariables' | 'world'> & { readonly memoryMb?: number; readonly reads?: () => void } = {},
): Host {
  const artifacts = new MemoryArtifacts();
  const printed: PrintedLine[] = [];
  const folder = join(freshFolder(), 'artifacts');
  const threadSlots = new ThreadSlots({
    artifacts: {
      presignUpload: artifacts.presignUpload.bind(artifacts),
      put: artifacts.put.bind(artifacts),
      remove: artifacts.remove.bind(artifacts),
      read: (name, limit) => {
        settings.reads?.();
        return artifacts.read(name, limit);
      },
    },
    folder,
    ...(settings.limits === undefined ? {} : { limits: settings.limits }),
  });
  const bundles = new LocalBundles({
    threadSlots,
    clock,
    memoryMb: settings.memoryMb ?? 128,
    print: (line) => printed.push(line),
    ...(settings.world === undefined ? {} : { world: settings.world }),
    ...(settings.readCredentialVariables === undefined ? {} : { readCredentialVariables: settings.readCredentialVariables }),
  });
  onTestFinished(() => threadSlots.stop());
  return {
    bundles,
    artifacts,
    printed,
    folder,
    async deploy(name, files, devkit) {
      const sources = typeof files === 'string' ? { [bundlePaths.workflow]: files } : files;
      const packed = await packArchive(new Map(Object.entries(sources).map(([path, text]) => [path, Buffer.from(text)])));
      const manifest: Manifest = {
        deploymentId: deploymentId(name),
        specVersion: 1,
        app: defaultApp,
        ...(devkit === undefined ? { runtime: 'bundle' } : { runtime: 'devkit', devkit }),
        workflows: [{ name: 'greet' }],
        steps: [],
        files: packed.files,
        artifact: packed.artifact,
      };
      await artifacts.put({ scope, deploymentId: manifest.deploymentId, sha256: packed.artifact.sha256 }, packed.archive);
      return manifest;
    },
    ask: (manifest, { queueName = '__wkf_workflow_greet', headers = {}, body = null, withinMs = 20_000, signal } = {}) =>
      bundles.deliver(
        scope,
        manifest,
        { queueName, headers: { 'content-type': 'application/json', ...headers }, body },
        { endsAt: after(clock.now(), durationMs(withinMs)), signal: signal ?? new AbortController().signal },
      ),
  };
}

export const answering = (expression: string): string => `export const POST = async (request) => Response.json(${expression});`;
