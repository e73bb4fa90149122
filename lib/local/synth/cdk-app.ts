/** The CDK apps of a checkout and of the package of the command line. */
import { dirname, join } from 'node:path';

/** The CDK app that makes the template. */
export interface CdkApp {
  /** absolute path of its program */
  readonly program: string;
  readonly cwd: string;
  /** absolute paths of files and folders: another content of one of them makes a new synthesis */
  readonly sources: readonly string[];
  /** files such as cdk.json with a context; a later one overrides an earlier one. Missing files have none. */
  readonly contextFiles: readonly string[];
}

const checkoutSources = ['lib', 'functions', 'bin', 'scripts', 'package-lock.json', 'cdk.json', 'tsconfig.json'] as const;

/** The app of a checkout, with its settings. */
export const checkoutApp = (root: string): CdkApp => ({
  program: join(root, 'bin', 'stepwell.ts'),
  cwd: root,
  sources: checkoutSources.map((path) => join(root, path)),
  contextFiles: [join(root, 'cdk.json')],
});

/** The app of the package, which brings its function bundles. Settings are in the cdk.json of the project. */
export const packagedApp = (program: string, project: string): CdkApp => ({
  program,
  cwd: dirname(program),
  sources: [program, join(dirname(program), 'functions')],
  contextFiles: [join(dirname(program), 'cdk.json'), join(project, 'cdk.json')],
});
