//! Reading one object.

use super::{collection, scale, shape};
use crate::http::Call;
use crate::http::respond::Reply;
use crate::server::Api;
use crate::status::{ApiError, ApiResult};

pub(super) fn run(api: &Api, call: &Call, name: &str) -> ApiResult<Reply> {
    let target = &call.target;
    let wanted = super::list::version(&call.params.resource_version).map_err(ApiError::untyped)?.unwrap_or_default();
    let objects = collection(&target.resource)?;
    let present = objects.engine().published();
    if wanted > present {
        return Err(ApiError::too_large_version(wanted, present));
    }
    let object =
        objects.get_published(target.namespace(), name).ok_or_else(|| ApiError::not_found(&target.resource, name))?;
    if target.subresource.as_deref() == Some("scale") {
        let shown = target.resource.show(object.json());
        return Ok(Reply::object(shape::scale(call, scale::of(&target.resource, &shown)?, api.clock.now())));
    }
    shape::stored(call, &object, api.clock.now())
}
