/** Deploys the measured code workflows with the command line, as authors do. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const codeFolder = fileURLToPath(new URL('code', import.meta.url));
const commandLine = fileURLToPath(new URL('../bin/stepwell-cli.mjs', import.meta.url));

export interface CodeWorkflow {
  readonly name: string;
  readonly input: { readonly steps: number } | readonly [steps: number];
  /** the project that is deployed */
  readonly folder: string;
}

/** Sequential steps. */
export const codeChain = (steps: number): CodeWorkflow => ({ name: 'code-chain', input: { steps }, folder: codeFolder });
/** Sequential steps that are idempotent. */
export const codePacked = (steps: number): CodeWorkflow => ({ name: 'code-packed', input: { steps }, folder: codeFolder });
/** Parallel steps. */
export const codeTogether = (steps: number): CodeWorkflow => ({ name: 'code-together', input: { steps }, folder: codeFolder });

/** One call after the other of a workflow with one step. */
export const codeCaller = (calls: number): CodeWorkflow => ({ name: 'code-caller', input: { steps: calls }, folder: codeFolder });

/** @throws if the deployment fails, with the output of the command */
export async function deployCode(url: string, apiKey: string, folder: string): Promise<void> {
  const env = { ...process.env, STEPWELL_API_KEY: apiKey };
  // Asynchronous, because the embedded cloud runs in this process.
  await promisify(execFile)(process.execPath, [commandLine, '--url', url, 'deploy'], { cwd: folder, env });
}
