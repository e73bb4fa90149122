/** Workflows of code, deployed as their authors deploy them: by the command line, from a project. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const codeFolder = fileURLToPath(new URL('code', import.meta.url));
const commandLine = fileURLToPath(new URL('../bin/stepwell-cli.mjs', import.meta.url));

export interface CodeWorkflow {
  readonly name: string;
  readonly input: { readonly steps: number };
}

/** Steps one after the other. */
export const codeChain = (steps: number): CodeWorkflow => ({ name: 'code-chain', input: { steps } });
/** Steps that begin together. */
export const codeTogether = (steps: number): CodeWorkflow => ({ name: 'code-together', input: { steps } });

/** @throws where it cannot be deployed; what the command said is in the message */
export async function deployCode(url: string, apiKey: string, folder: string): Promise<void> {
  const env = { ...process.env, STEPWELL_API_KEY: apiKey };
  // The embedded cloud that answers it is in this very process.
  await promisify(execFile)(process.execPath, [commandLine, '--url', url, 'deploy'], { cwd: folder, env });
}
