/** Widgets: pages with the status of one run or workflow, for pages of other sites. The text to paste is shown once. */
import { type ReactNode, useState } from 'react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type CreatedEmbed, type EmbedSummary, api } from '../api.ts';
import { CopyButton } from '../primitives/copy-button.tsx';
import { Dialog } from '../primitives/dialog.tsx';
import { ErrorText } from '../primitives/error-text.tsx';
import { formText } from '../primitives/form-text.ts';
import { Loading } from '../primitives/loading.tsx';
import { Ago } from '../primitives/time.tsx';
import { Link, setSearch, useSearch } from '../router.tsx';

export function EmbedsPage(): ReactNode {
  const queries = useQueryClient();
  const isCreating = useSearch().get('new') === 'true';
  const found = useQuery({ queryKey: ['embeds'], queryFn: ({ signal }) => api.embeds(signal) });
  const [created, setCreated] = useState<CreatedEmbed | undefined>();
  const read = (): Promise<void> => queries.invalidateQueries({ queryKey: ['embeds'] });
  const rows = found.data?.data;
  return (
    <section aria-labelledby="embeds-title">
      <div className="page-head">
        <h1 id="embeds-title">Widgets</h1>
        <span className="actions end">
          <button type="button" className="primary" onClick={() => setSearch({ new: 'true' })}>
            Create a widget…
          </button>
        </span>
      </div>
      <p>A widget shows the name, the status and the times of a run in a page of yours. It shows no inputs, outputs or errors.</p>
      {found.error === null ? null : <ErrorText error={found.error} onRetry={() => void found.refetch()} />}
      {rows === undefined && found.error === null ? <Loading /> : null}
      {rows?.length === 0 ? <Empty /> : null}
      {rows === undefined || rows.length === 0 ? null : <Table rows={rows} onRevoked={read} />}
      {isCreating ? (
        <CreateEmbed
          onClose={() => setSearch({ new: undefined })}
          onCreated={(embed) => {
            setCreated(embed);
            void read();
          }}
        />
      ) : null}
      {created === undefined ? null : <Snippet created={created} onClose={() => setCreated(undefined)} />}
    </section>
  );
}

const Empty = (): ReactNode => (
  <div className="empty">
    <h2>No widget exists</h2>
    <p>Create one for a run or a workflow, and paste it into your page.</p>
  </div>
);

interface TableProps {
  readonly rows: readonly EmbedSummary[];
  readonly onRevoked: () => Promise<void>;
}

function Table({ rows, onRevoked }: TableProps): ReactNode {
  const [revoking, setRevoking] = useState<EmbedSummary | undefined>();
  return (
    <>
      <table className="rows keys">
        <thead>
          <tr>
            <th scope="col">Shows</th>
            <th scope="col" className="scopes">
              In pages of
            </th>
            <th scope="col" className="when">
              Created
            </th>
            <th scope="col" className="when">
              Expires
            </th>
            <th scope="col" className="links">
              <span className="hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((embed) => (
            <Row key={embed.embedId} embed={embed} onRevoke={() => setRevoking(embed)} />
          ))}
        </tbody>
      </table>
      {revoking === undefined ? null : (
        <RevokeDialog embed={revoking} onRevoked={onRevoked} onClose={() => setRevoking(undefined)} />
      )}
    </>
  );
}

const Row = ({ embed, onRevoke }: { readonly embed: EmbedSummary; readonly onRevoke: () => void }): ReactNode => (
  <tr>
    <td>
      <Target of={embed} />
    </td>
    <td className="scopes">{embed.origins.join(', ')}</td>
    <td className="when" data-label="created">
      <Ago at={embed.createdAt} />
    </td>
    <td className="when" data-label="expires">
      <time dateTime={embed.expiresAt}>{new Date(embed.expiresAt).toLocaleDateString()}</time>
    </td>
    <td className="links">
      <button type="button" className="danger" onClick={onRevoke}>
        Revoke…
      </button>
    </td>
  </tr>
);

interface RevokeDialogProps {
  readonly embed: EmbedSummary;
  readonly onRevoked: () => Promise<void>;
  readonly onClose: () => void;
}

const RevokeDialog = ({ embed, onRevoked, onClose }: RevokeDialogProps): ReactNode => (
  <Dialog
    title="Revoke this widget?"
    action="Revoke it"
    isDangerous
    onClose={onClose}
    onConfirm={async () => {
      await api.revokeEmbed(embed.embedId);
      await onRevoked();
    }}
  >
    <p>Pages that contain it show nothing from then on.</p>
  </Dialog>
);

const Target = ({ of: { runId, workflowName = '' } }: { readonly of: EmbedSummary }): ReactNode =>
  runId === undefined ? (
    <Link to={`/workflows/${encodeURIComponent(workflowName)}`}>
      the newest run of <bdi>{workflowName}</bdi>
    </Link>
  ) : (
    <Link to={`/runs/${encodeURIComponent(runId)}`}>{runId}</Link>
  );

const days = [
  ['1', 'a day'],
  ['30', '30 days'],
  ['365', 'a year'],
] as const;
const daySeconds = 86_400;

interface CreateEmbedProps {
  readonly onCreated: (created: CreatedEmbed) => void;
  readonly onClose: () => void;
}

const CreateEmbed = ({ onCreated, onClose }: CreateEmbedProps): ReactNode => (
  <Dialog
    title="Create a widget"
    action="Create"
    onClose={onClose}
    onConfirm={async (form) => {
      const target = formText(form, 'target').trim();
      onCreated(
        await api.createEmbed({
          ...(target.startsWith('wrun_') ? { runId: target } : { workflowName: target }),
          origins: formText(form, 'origins')
            .split(/\s+/)
            .filter((each) => each !== ''),
          expiresInSeconds: Number(formText(form, 'days')) * daySeconds,
        }),
      );
    }}
  >
    <label>
      Name of a workflow, or id of a run
      <input name="target" required maxLength={128} placeholder="nightly-report" />
    </label>
    <label>
      Origins of the pages that may show it, one a line
      <textarea name="origins" rows={3} required spellCheck={false} placeholder="https://intranet.example.com" />
    </label>
    <label>
      Expires after
      <select name="days" defaultValue="30">
        {days.map(([count, text]) => (
          <option key={count} value={count}>
            {text}
          </option>
        ))}
      </select>
    </label>
  </Dialog>
);

/** Everybody who can see the page that contains it can read its address. */
function Snippet({ created, onClose }: { readonly created: CreatedEmbed; readonly onClose: () => void }): ReactNode {
  const address = new URL(created.path, document.baseURI).href;
  const text = `<iframe src="${address}" title="Status" width="320" height="120" style="border:0"></iframe>`;
  return (
    <Dialog title="Paste this into your page" action="I have stored it" onClose={onClose} onConfirm={async () => onClose()}>
      <p className="notice wait">
        The address is shown once. Each visitor of the page can read it, and with it the status, until it expires or you revoke
        it.
      </p>
      <pre className="secret">{text}</pre>
      <CopyButton text={text} label="Copy" />
    </Dialog>
  );
}
