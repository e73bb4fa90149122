import { resumeHook } from 'workflow/api';

/** Resumes the hook of the order for this item. */
export async function POST(request: Request): Promise<Response> {
  const form = await request.formData();
  const { runId } = await resumeHook(`approve:${String(form.get('item'))}`, { by: String(form.get('by')) });
  return Response.json({ runId });
}
