/** Wires the deliveries to registered applications to the network. */
import { settingsFrom } from '../../lib/aws/environment.ts';
import { once } from '../../lib/base/lazy.ts';
import type { Clock } from '../../lib/ports/clock.ts';
import type { AppCalls, AppRequest, AppResponse } from '../../lib/ports/devkit.ts';

/** Logs a message that an application did not take. The queue delivers it again, and the log of the run does not mention it. */
export type ReportRefusedMessage = (fields: {
  readonly url: string;
  readonly queueName: string | undefined;
  readonly attempt: string | undefined;
  readonly reason: string;
}) => void;

/**
 * With the destinations of the installation's setting. The first delivery loads the HTTP client, which is half of the bundle: most
 * installations have no such application.
 */
export function createAppCalls(clock: Pick<Clock, 'now'>, report: ReportRefusedMessage): AppCalls {
  const load = once(async () => {
    const [{ HttpAppCalls }, { networkAccessOf }] = await Promise.all([
      import('../../lib/egress/app-calls.ts'),
      import('../../lib/egress/private-destinations.ts'),
    ]);
    return new HttpAppCalls(
      once(() => networkAccessOf(settingsFrom(process.env).privateDestinations)),
      clock,
    );
  });
  return {
    post: async (request, limits) => {
      const response = await (await load()).post(request, limits);
      const reason = refusalOf(response);
      if (reason !== undefined) report(fieldsOf(request, reason));
      return response;
    },
    forward: async (...request) => (await load()).forward(...request),
  };
}

function refusalOf(response: AppResponse): string | undefined {
  if (response.kind === 'failed') return response.reason;
  const { status } = response;
  return status >= 200 && status < 300 ? undefined : `the application responded with status ${status}`;
}

const fieldsOf = ({ url, headers }: AppRequest, reason: string): Parameters<ReportRefusedMessage>[0] => ({
  url,
  queueName: headers['x-vqs-queue-name'],
  attempt: headers['x-vqs-message-attempt'],
  reason,
});
