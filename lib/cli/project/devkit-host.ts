/** Bundles the functions of an app's own SDK that resume its hooks. The SDK's builder leaves its webhook handler unbundled. */
import { build } from 'esbuild';
import { CliError } from '../command.ts';
import { messageOf } from '../describe-error.ts';

/** Dependencies of the SDK in CommonJS call `require`, which an ES module does not have. */
const banner =
  "import { createRequire as stepwellRequire } from 'node:module'; const require = stepwellRequire(import.meta.url);";

/** @throws CliError */
export async function bundleHost(root: string): Promise<Uint8Array> {
  try {
    const { outputFiles } = await build({
      stdin: { contents: "export { resumeWebhook } from 'workflow/api';", resolveDir: root, sourcefile: 'host.mjs' },
      absWorkingDir: root,
      bundle: true,
      write: false,
      platform: 'node',
      target: 'node24',
      format: 'esm',
      legalComments: 'none',
      logLevel: 'silent',
      banner: { js: banner },
    });
    const [output] = outputFiles;
    if (output === undefined) throw new Error('esbuild wrote no module');
    return output.contents;
  } catch (error) {
    throw new CliError('build_failed', `The functions of workflow/api cannot be bundled: ${messageOf(error)}.`);
  }
}
