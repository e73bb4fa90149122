/**
 * An application whose runs execute in the service: it refuses queue callbacks and reports them in its diagnostics.
 * `WORKFLOW_EXECUTION_MODE=remote WORKFLOW_TARGET_WORLD=workflow-studio/world-remote npx node examples/app-host.ts`
 */
import { type Server, createServer } from 'node:http';
import { type Environment, appHost, enforceRemoteTargetGuard, nodeHandler } from '../lib/app-host/index.ts';

export function application(env: Environment): Server {
  // In production a wrong target ends the process here, before its first request.
  enforceRemoteTargetGuard(env);
  const handle = nodeHandler(appHost({ env }));
  return createServer((request, response) => {
    void handle(request, response, (error) => {
      response.statusCode = error === undefined ? 200 : 500;
      response.end('the application itself\n');
    });
  });
}

if (import.meta.main) {
  const server = application(process.env).listen(Number(process.env['PORT'] ?? 4800), '127.0.0.1');
  server.on('listening', () => process.stdout.write(`http://127.0.0.1:${process.env['PORT'] ?? 4800}\n`));
}
