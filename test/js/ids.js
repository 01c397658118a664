// IDs through JSON and back, as a program on Node.js with the package pg sees
// them.  Run by t/106_javascript.pl, which made the tables; PGHOST and the like
// say where.  Prints a line for each claim: "ok ..." or "not ok ...".

import pg from 'pg';

const client = new pg.Client({ host: process.env.PGHOST, port: process.env.PGPORT, database: process.env.PGDATABASE, user: process.env.PGUSER });
await client.connect();

const query = async (sql, ...values) => (await client.query(sql, values)).rows;
const value = async (sql, ...values) => Object.values((await query(sql, ...values))[0])[0];
const claim = (holds, what) => console.log(`${holds ? 'ok' : 'not ok'} - ${what}`);

const increasing = (list) => list.every((x, i) => i === 0 || list[i - 1] < x);
const rows = Number(await value('SELECT count(*) FROM ticket'));

// A safe generator: numbers.
{
  const tickets = await query('SELECT row_to_json(t) AS ticket, id::text AS exact FROM ticket t ORDER BY id');
  const ids = tickets.map((row) => row.ticket.id);

  claim(tickets.length === rows && rows > 0, 'safe: all rows arrive');
  claim(ids.every((id) => typeof id === 'number' && Number.isSafeInteger(id)), 'safe: row_to_json gives safe integers');
  claim(tickets.every((row) => String(row.ticket.id) === row.exact), 'safe: each number is the ID, digit by digit');
  claim(new Set(ids).size === rows && increasing(ids), 'safe: the numbers are distinct and in order');
  claim(await value('SELECT json_agg(id ORDER BY id) FROM ticket').then((all) => all.every((id, i) => id === ids[i])), 'safe: json_agg gives the same');
  claim(await value('SELECT jsonb_agg(id ORDER BY id) FROM ticket').then((all) => all.every((id, i) => id === ids[i])), 'safe: jsonb_agg gives the same');

  claim(await value('SELECT count(*)::int FROM ticket WHERE id = ANY ($1)', ids) === rows, 'safe: numbers as parameters find every row');
  claim(await value('SELECT count(*)::int FROM json_array_elements_text($1) j JOIN ticket ON id = j::bigint', JSON.stringify(ids)) === rows,
    'safe: numbers in JSON find every row');
  claim(await value('SELECT item FROM ticket WHERE id = $1', ids.at(-1)) === tickets.at(-1).ticket.item, 'safe: one number finds its row');
  claim(await value("SELECT (cosid_parse($1, 'safe-js')).id::text", ids[0]) === tickets[0].exact, 'safe: cosid_parse takes the number');

  const last = JSON.parse(await value('SELECT json_build_object($$id$$, 9007199254740991)::text'));
  claim(last.id === Number.MAX_SAFE_INTEGER && await value('SELECT cosid_is_safe_javascript($1)', last.id), 'safe: so is the last one, 2^53 - 1');
}

// A default one as numbers: not exact.
{
  const orders = await query('SELECT row_to_json(o) AS "order", id::text AS exact FROM "order" o ORDER BY id');
  const inexact = orders.filter((row) => String(BigInt(row.order.id)) !== row.exact);
  const ids = orders.map((row) => String(BigInt(row.order.id)));

  claim(orders.every((row) => !Number.isSafeInteger(row.order.id)), 'default: no ID is a safe integer');
  claim(inexact.length > orders.length / 2, 'default: most numbers are another ID');
  claim(await value('SELECT count(*)::int FROM "order" WHERE id = ANY ($1)', ids) < rows, 'default: numbers do not find every row');
}

// A default one as strings: exact, by id::text and by its converter.
{
  const orders = await query('SELECT json_build_object($$id$$, id::text, $$code$$, cosid_radix62(id), $$item$$, item) AS "order", id FROM "order" ORDER BY id');
  const ids = orders.map((row) => row.order.id);
  const codes = orders.map((row) => row.order.code);

  claim(orders.length === rows && new Set(ids).size === rows, 'strings: all rows arrive, as distinct IDs');
  claim(orders.every((row) => row.order.id === row.id), 'strings: id::text is what pg gives for a bigint');
  claim(ids.every((id) => typeof id === 'string' && BigInt(id) < 2n ** 63n), 'strings: BigInt reads them');
  claim(await value('SELECT count(*)::int FROM "order" WHERE id = ANY ($1)', ids) === rows, 'strings: id::text finds every row');
  claim(await value('SELECT count(*)::int FROM json_array_elements_text($1) j JOIN "order" ON id = j::bigint', JSON.stringify(ids)) === rows,
    'strings: in JSON, too');
  claim(await value('SELECT count(*)::int FROM unnest($1::text[]) c JOIN "order" ON id = cosid_from_radix62(c)', codes) === rows,
    'strings: cosid_from_radix62 finds every row');
  claim(increasing(codes), "strings: JavaScript's order of the codes is that of the IDs");
}

{
  const parcels = await query('SELECT row_to_json(p) AS parcel FROM parcel p ORDER BY item');
  const codes = parcels.map((row) => row.parcel.id);

  claim(codes.length === rows && codes.every((code) => /^P[0-9A-Za-z]{11}$/.test(code)), 'cosid_next_string: all rows arrive, as its strings');
  claim(new Set(codes).size === rows && increasing(codes), 'cosid_next_string: they are distinct and in the order they were minted');
  claim(await value('SELECT count(*)::int FROM json_array_elements_text($1) j JOIN parcel ON id = j', JSON.stringify(codes)) === rows,
    'cosid_next_string: they find every row');
  claim((await query('SELECT cosid_to_string(cosid_from_string(c, $$parcel$$), $$parcel$$) AS back FROM unnest($1::text[]) WITH ORDINALITY u (c, n) ORDER BY n', codes))
    .every((row, i) => row.back === codes[i]), 'cosid_next_string: cosid_from_string reads them back');
}

await client.end();
