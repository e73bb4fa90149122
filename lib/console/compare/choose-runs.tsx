/** Asks which two runs are compared. */
import type { ReactNode } from 'react';
import { formText } from '../primitives/form-text.ts';
import { Link, setSearch } from '../router.tsx';

export const ChooseRuns = ({ a, b }: { readonly a: string; readonly b: string }): ReactNode => (
  <form
    className="card compare-choose"
    onSubmit={(event) => {
      event.preventDefault();
      const form = new FormData(event.currentTarget);
      setSearch({ a: formText(form, 'a').trim(), b: formText(form, 'b').trim() });
    }}
  >
    <p>
      Paste the ids of two runs, or select two runs in the <Link to="/runs">list</Link> and choose Compare.
    </p>
    <label>
      Run A
      <input name="a" required placeholder="wrun_…" defaultValue={a} spellCheck={false} />
    </label>
    <label>
      Run B
      <input name="b" required placeholder="wrun_…" defaultValue={b} spellCheck={false} />
    </label>
    <div className="actions">
      <button type="submit" className="primary">
        Compare
      </button>
    </div>
  </form>
);
