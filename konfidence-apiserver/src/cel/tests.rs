use serde_json::json;

use super::*;

fn schema() -> Value {
    json!({"type": "object", "properties": {
        "pages": {"type": "integer"}, "name": {"type": "string"}, "kind-of": {"type": "string"}, "on": {"type": "boolean"},
        "loose": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        "any": {"x-kubernetes-preserve-unknown-fields": true}, "port": {"x-kubernetes-int-or-string": true},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "loaves": {"type": "array", "items": {"type": "object", "properties": {"size": {"type": "integer"}}}},
        "tags": {"type": "array", "items": {"type": "string"}}, "since": {"type": "string", "format": "date-time"},
        "inner": {"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"type": "integer"}}}}}}})
}

fn told(rule: &str, is_object: bool) -> String {
    let schema = schema();
    let place = Place { schema: &schema, is_object, old_is_optional: false };
    match mistake(rule, place, Wanted::Bool) {
        None => "taken".to_owned(),
        Some(Mistake::Result) => "result".to_owned(),
        Some(Mistake::Types(told)) => told,
    }
}

/// The words and the columns are those that kube-apiserver 1.36.1 gave for the same rules.
#[test]
fn a_mistake_is_told_in_the_words_and_at_the_place_of_a_real_server() {
    for (rule, column, what) in [
        ("self.nope > 3", 5, "undefined field 'nope'"),
        ("has(self.nope)", 4, "undefined field 'nope'"),
        ("has(self.nope.x)", 9, "undefined field 'nope'"),
        ("has(self.name.x)", 4, "type 'string' does not support field selection"),
        ("self.inner.a.c == 1", 13, "undefined field 'c'"),
        ("self.nope.nada.more == 1", 5, "undefined field 'nope'"),
        ("(self).nope == 1", 7, "undefined field 'nope'"),
        ("self.inner.?x.orValue(1) == 1", 11, "undefined field 'x'"),
        ("self.name == r'\\' || self.nope", 26, "undefined field 'nope'"),
        ("self.pages.x == 1", 11, "type 'int' does not support field selection"),
        ("self.labels['a'].x == 1", 17, "type 'string' does not support field selection"),
        ("self.tags.x == 1", 10, "type 'list(string)' does not support field selection"),
        ("self.loose.thing == 1", 11, "undefined field 'thing'"),
        ("self.any == 1", 5, "undefined field 'any'"),
        ("self.loaves.all(x, x.nope > 1)", 21, "undefined field 'nope'"),
        ("self.loaves[0].nope == 1", 15, "undefined field 'nope'"),
        ("oldSelf.nope == 1", 8, "undefined field 'nope'"),
        ("self.nonsense()", 14, "undeclared reference to 'nonsense' (in container '')"),
        ("nonsense(self)", 9, "undeclared reference to 'nonsense' (in container '')"),
        ("foo == 1", 1, "undeclared reference to 'foo' (in container '')"),
        ("self.name == 5", 11, "found no matching overload for '_==_' applied to '(string, int)'"),
        ("self.name.size() > 'a'", 18, "found no matching overload for '_>_' applied to '(int, string)'"),
        ("self.name.startsWith(1)", 21, "found no matching overload for 'startsWith' applied to 'string.(int)'"),
        ("!self.pages", 1, "found no matching overload for '!_' applied to '(int)'"),
        ("-self.name == 'a'", 1, "found no matching overload for '-_' applied to '(string)'"),
        ("self.on && self.pages", 16, "expected type 'bool' but found 'int'"),
        ("self.pages in self.tags", 12, "found no matching overload for '@in' applied to '(int, list(string))'"),
        ("self.tags[0] == 1", 14, "found no matching overload for '_==_' applied to '(string, int)'"),
        ("self.tags['a'] == 'a'", 10, "found no matching overload for '_[_]' applied to '(list(string), string)'"),
        ("self.labels[1] == 'a'", 12, "found no matching overload for '_[_]' applied to '(map(string, string), int)'"),
        ("self.name.matches('[')", 19, "invalid matches argument"),
        ("self.name != null", 11, "found no matching overload for '_!=_' applied to '(string, null)'"),
        ("[1, 'a'].size() == 2", 5, "expected type 'int' but found 'string'"),
        ("{'a': 1}['a'] == 'b'", 15, "found no matching overload for '_==_' applied to '(int, string)'"),
        (
            "self.tags.filter(t, t.size()).size() > 0",
            17,
            "found no matching overload for '_?_:_' applied to '(int, list(string), list(string))'",
        ),
        (
            "quantity(self.name).compareTo(quantity('1')) == 'a'",
            46,
            "found no matching overload for '_==_' applied to '(int, string)'",
        ),
        ("size(self.pages) > 1", 5, "found no matching overload for 'size' applied to '(int)'"),
        ("duration(self.name) > 1", 21, "found no matching overload for '_>_' applied to '(duration, int)'"),
    ] {
        let mark = ".".repeat(column - 1);
        assert_eq!(told(rule, false), format!("ERROR: <input>:1:{column}: {what}\n | {rule}\n | {mark}^"), "{rule}");
    }
    for rule in ["self.pages + 1", "self.name", "'a'", "self.on ? 1 : 2"] {
        assert_eq!(told(rule, false), "result", "{rule}");
    }
    assert_eq!(
        told("self.pages > 1\n&& self.nope", false),
        "ERROR: <input>:2:8: undefined field 'nope'\n | && self.nope\n | .......^"
    );
    assert_eq!(told("self.nope == self.nada", false).matches("ERROR").count(), 2);
    assert_eq!(told("math.greatest(1, 2) == 2", false).matches("undeclared reference").count(), 2);
    assert_eq!(told("self.tags.existsOne(t, t == 1)", false).matches("undeclared reference").count(), 3);
    assert!(told("self.metadata.labels == 1", true).contains(":14: undefined field 'labels'"));
}

#[test]
fn what_a_real_server_takes_is_taken() {
    for rule in [
        "self.pages > 3",
        "self.pages > 1.5",
        "self.labels.anything == 'x'",
        "self.port == 1",
        "self.kind__dash__of == 'x'",
        "self.inner == null",
        "'%s-%d'.format([self.name, self.pages]) == 'a-1'",
        "'self.nope' == self.name",
        "[1].all(self, self > 0)",
        "has(self.inner.a.b) && has(self.labels.x)",
        "self == oldSelf",
        "self.on",
        "self.loaves.exists(x, x.size > 1)",
        "self.loaves.map(x, x.size).sum() < 10 && self.tags.all(i, tag, i < 3 && tag != '')",
        "self.loaves.filter(x, x.size > 1).size() == 1 ? self.on : self.pages == -1",
        "self.labels.all(key, key.startsWith('a') && self.labels[key] != '')",
        "self.name.matches('^[a-z]+$') && self.name in ['a', 'b'] && !(self.name in self.labels)",
        "self.since > timestamp('2026-01-01T00:00:00Z') && self.since + duration('1h') > self.since",
        "self.?inner.?a.?b.orValue(1) == 1",
        "optional.of(self.pages).hasValue() && sets.contains([1], [self.pages]) && isURL(self.name)",
        "quantity(self.name).isGreaterThan(quantity('1Mi')) || ip(self.name).family() == 4",
        "type(self.pages) == int && {'a': 1}.size() == 1",
        "self.name.lowerAscii().split('-').join('.') == \"a\" // and no more",
    ] {
        assert_eq!(told(rule, false), "taken", "{rule}");
    }
    for rule in ["self.metadata.name == 'a' && self.kind == 'Menu'", "self.metadata.generateName == ''"] {
        assert_eq!(told(rule, true), "taken", "{rule}");
    }
}

#[test]
fn a_rule_of_the_name_is_told_from_one_that_reads_more() {
    for (rule, wanted) in [
        ("size(self.metadata.name) <= 49", true),
        ("self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')", true),
        ("self . metadata\n.name.startsWith('self.spec') || self.metadata.name == 'oldSelf'", true),
        ("self.metadata.name == self.spec.vector", false),
        ("self.metadata.name == oldSelf.metadata.name", false),
        ("self.metadata.names == 'a'", false),
        ("self.metadata.generateName == 'a'", false),
        ("self.metadata.name == 'a' && has(self.spec)", false),
        ("[self].all(one, one.spec.vector == self.metadata.name)", false),
        ("self.metadata.name != r'\\' + self.spec.vector + '\\'", false),
        ("self.metadata.name != '''a'b''' + self.spec.vector", false),
        ("self.metadata.name.matches('^\\\\w\\'self.spec$') // and self.spec", true),
        ("1 == 1", false),
    ] {
        assert_eq!(reads_only_the_name(rule), wanted, "{rule}");
    }
}
