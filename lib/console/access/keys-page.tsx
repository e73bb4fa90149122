/** The API keys of the project: who may do what until when. A new key's text is shown once. */
import { type ReactNode, useState } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import { type CreatedKey, type KeySummary, api } from '../api.ts';
import { Dialog } from '../primitives/dialog.tsx';
import { Pages, usePages } from '../primitives/pages.tsx';
import { Ago, useNow } from '../primitives/time.tsx';
import { Link, setSearch, useSearch } from '../router.tsx';
import { useSession } from '../shell/use-session.ts';
import { AdminGate } from './admin-gate.tsx';
import { CreateKey, CreatedKeyDialog } from './create-key.tsx';
import { type KeyState, stateOf } from './key-state.ts';

const hourMs = 3_600_000;

export const KeysPage = (): ReactNode => (
  <section aria-labelledby="keys-title">
    <div className="page-head">
      <h1 id="keys-title">Keys</h1>
    </div>
    <AdminGate what="The API keys of the project" command="npx stepwell keys list">
      <Keys />
    </AdminGate>
  </section>
);

function Keys(): ReactNode {
  const queries = useQueryClient();
  const isAll = useSearch().get('all') === 'true';
  const list = usePages<KeySummary>({ key: ['keys'], read: (query, signal) => api.keys(query, signal) });
  const [isCreating, setCreating] = useState(false);
  const [created, setCreated] = useState<CreatedKey | undefined>();
  const read = (): Promise<void> => queries.invalidateQueries({ queryKey: ['keys'] });
  return (
    <>
      <form className="filters" onSubmit={(event) => event.preventDefault()}>
        <label className="check">
          <input
            type="checkbox"
            checked={isAll}
            onChange={(event) => setSearch({ all: event.currentTarget.checked ? 'true' : undefined })}
          />
          Revoked and expired keys too
        </label>
        <button type="button" className="primary end" onClick={() => setCreating(true)}>
          Create a key…
        </button>
      </form>
      <Pages list={list} empty={<Empty />} more="Older keys">
        {(rows) => <Table rows={rows} isAll={isAll} onRevoked={read} />}
      </Pages>
      {isCreating ? (
        <CreateKey
          onClose={() => setCreating(false)}
          onCreated={(key) => {
            setCreated(key);
            void read();
          }}
        />
      ) : null}
      {created === undefined ? null : <CreatedKeyDialog created={created} onClose={() => setCreated(undefined)} />}
    </>
  );
}

const Empty = (): ReactNode => (
  <div className="empty">
    <h2>The project has no key</h2>
    <p>Create one for each program, with the scopes that it needs.</p>
  </div>
);

interface TableProps {
  readonly rows: readonly KeySummary[];
  readonly isAll: boolean;
  readonly onRevoked: () => Promise<void>;
}

function Table({ rows, isAll, onRevoked }: TableProps): ReactNode {
  const now = useNow();
  const shown = rows.map((key) => ({ key, state: stateOf(key, now) })).filter(({ state }) => isAll || state === 'active');
  const [revoking, setRevoking] = useState<KeySummary | undefined>();
  return (
    <>
      <table className="rows keys">
        <thead>
          <tr>
            <th scope="col">Key</th>
            <th scope="col" className="scopes">
              Scopes
            </th>
            <th scope="col" className="when">
              Last used
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
          {shown.map(({ key, state }) => (
            <Row key={key.keyId} of={key} state={state} onRevoke={() => setRevoking(key)} />
          ))}
        </tbody>
      </table>
      {revoking === undefined ? null : (
        <Dialog
          title={`Revoke ${revoking.keyId}?`}
          action="Revoke the key"
          isDangerous
          onClose={() => setRevoking(undefined)}
          onConfirm={async () => {
            await api.revokeKey(revoking.keyId);
            await onRevoked();
          }}
        >
          <p>
            Programs that use it are refused within 15 seconds, and the sessions that it started end. A revocation is final. To
            replace a key without a gap, run <code>npx stepwell keys rotate {revoking.keyId}</code>.
          </p>
        </Dialog>
      )}
    </>
  );
}

interface RowProps {
  readonly of: KeySummary;
  readonly state: KeyState;
  readonly onRevoke: () => void;
}

function Row({ of: { keyId, scopes, createdAt, lastUsedAt, expiresAt, replacedBy }, state, onRevoke }: RowProps): ReactNode {
  const isOwn = useSession()?.keyId === keyId;
  return (
    <tr>
      <td>
        <code>{keyId}</code> {state === 'active' ? null : <span className="pill bad small">{state}</span>}
        {isOwn ? <span className="pill live small">yours</span> : null}
        <div className="dim small">
          created <Ago at={createdAt} />
          {replacedBy === undefined ? null : (
            <>
              , replaced by <code>{replacedBy}</code>
            </>
          )}
        </div>
      </td>
      <td className="scopes">
        {scopes.map((scope) => (
          <span key={scope} className={scope === 'admin' ? 'chip strong' : 'chip'}>
            {scope}
          </span>
        ))}
      </td>
      <td className="when" data-label="last used">
        <LastUse at={lastUsedAt} />
      </td>
      <td className="when" data-label="expires">
        {expiresAt === undefined ? 'never' : <time dateTime={expiresAt}>{new Date(expiresAt).toLocaleDateString()}</time>}
      </td>
      <td className="links">
        <Link to={`/audit?actor=${encodeURIComponent(keyId)}`} aria-label={`Audit of ${keyId}`}>
          Audit
        </Link>
        {state === 'active' && !isOwn ? (
          <button type="button" className="danger" aria-label={`Revoke ${keyId}`} onClick={onRevoke}>
            Revoke…
          </button>
        ) : null}
      </td>
    </tr>
  );
}

/** The API says the hour of the last use. */
function LastUse({ at }: { readonly at: string | undefined }): ReactNode {
  const now = useNow();
  if (at === undefined) return 'never';
  return now - Date.parse(at) < hourMs ? <time dateTime={at}>this hour</time> : <Ago at={at} />;
}
