/**
 * The one message of an answer that is a stream of events, as a document: for a client that reads none. Such a stream ends with
 * that message, and none of our tools sends another before it.
 */
export async function withoutStream(response: Response): Promise<Response> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return response;
  // JSON may hold U+2028, at which a stream's line does not end, though a pattern's `.` would.
  const data = /^data: ?(\S[^\r\n]*)/m.exec(await response.text())?.[1];
  return new Response(data, { status: response.status, headers: { 'content-type': 'application/json' } });
}
